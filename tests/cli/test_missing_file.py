"""A memory file that is not there: commands that read say so and make none; commands that write make it."""

from pathlib import Path

import pytest

from mcp_memory_server import addresses
from tests.cli.commands import LISBON, Run

READING: list[list[str]] = [
    ["facts"],
    ["facts", "work/", "--json"],
    ["facts", "work/employer", "--history"],
    ["preferences"],
    ["recall", "Lisbon"],
    ["export"],
    ["forget", "0123456789ab"],
    ["forget-user", "ana", "--yes"],
    ["fold"],
    ["redrive", "--list"],
]


@pytest.fixture
def default_file(table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that is used when nobody names one."""
    monkeypatch.delenv("MCP_MEMORY_TABLE")
    monkeypatch.setattr(addresses, "data_folder", lambda: tmp_path / "data")
    return tmp_path / "data" / "memory.db"


@pytest.mark.parametrize("command", READING, ids=" ".join)
def test_a_mistyped_path_is_named_and_no_file_is_made(run: Run, table: Path, command: list[str]) -> None:
    refused = run(*command)

    (line,) = refused.err.splitlines()
    assert (refused.code, refused.out) == (2, "")
    assert f"no memory file at {str(table)!r}" in line
    assert "`mcp-memory-server remember`" in line
    assert list(table.parent.iterdir()) == []


def test_a_path_given_as_an_option_is_checked_too(run: Run, tmp_path: Path) -> None:
    run(*LISBON)

    refused = run("recall", "Lisbon", "--table", f"sqlite://{tmp_path}/memroy.db")

    assert refused.code == 2
    assert "memroy.db" in refused.err
    assert not (tmp_path / "memroy.db").exists()


def test_before_anything_is_saved_in_the_default_file_reading_is_no_error(run: Run, default_file: Path) -> None:
    listed, asked, set_up = run("facts"), run("recall", "Lisbon", "--json"), run("preferences", "--json")

    assert (listed.code, listed.out) == (0, "")
    assert listed.err.startswith(f"Nothing is saved yet: there is no memory file at {str(default_file)!r}")
    assert (asked.code, asked.json) == (0, {"status": "complete", "memories": []})
    assert (set_up.code, set_up.json) == (0, [])
    assert not default_file.exists()


def test_an_export_of_no_file_is_not_called_done(run: Run, default_file: Path, tmp_path: Path) -> None:
    refused = run("export", str(tmp_path / "backup.jsonl"))

    assert refused.code == 1
    assert not (tmp_path / "backup.jsonl").exists()
    assert not default_file.exists()


def test_doctor_fails_for_a_mistyped_path_and_makes_no_file(run: Run, table: Path) -> None:
    checked = run("doctor", "--json")

    (failed,) = [check for check in checked.json["checks"] if not check["ok"]]
    assert (checked.code, failed["check"]) == (1, "table")
    assert str(table) in failed["found"]
    assert "remember" in failed["advice"]
    assert list(table.parent.iterdir()) == []


def test_doctor_finds_nothing_wrong_before_the_default_file_is_made(run: Run, default_file: Path) -> None:
    checked = run("doctor")

    assert checked.code == 0
    assert "no memory file" in checked.out
    assert not default_file.exists()


def test_doctor_finds_a_default_folder_that_cannot_be_made(
    run: Run, default_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    default_file.parent.write_text("a file where the folder should be")

    assert run("doctor").code == 1


def test_writing_makes_the_file(run: Run, table: Path) -> None:
    assert run("preferences", "tone", "brief").code == 0
    assert table.exists()
    assert run("facts").out == "Nothing is known yet.\n"
