"""The command that finds out what is wrong and says what to do."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.commands import LISBON, Run
from tests.engines.servers import free_port

CHECKS = ["versions", "settings", "probe", "sessions", "outbox", "summaries", "items", "table", "permissions"]


def lines(out: str) -> dict[str, str]:
    """Return what was found by each check, without the advice, which is indented."""
    return {line.split()[1]: line for line in out.splitlines() if line.startswith(("ok  ", "FAIL"))}


def test_all_is_well_with_a_new_memory(run: Run, empty_table: Path) -> None:
    checked = run("doctor")

    assert checked.code == 0
    assert checked.out.endswith("All is well.\n")
    assert list(lines(checked.out)) == CHECKS
    assert str(empty_table) in checked.out
    assert "user 'ana'" in checked.out


def test_trying_a_memory_leaves_nothing_behind(run: Run, empty_table: Path) -> None:
    run("doctor")

    with closing(sqlite3.connect(empty_table)) as file:
        assert file.execute("SELECT count(*) FROM items").fetchone() == (0,)


@pytest.mark.usefixtures("empty_table")
def test_json_is_for_programs(run: Run) -> None:
    checked = run("doctor", "--json").json

    assert checked["ok"] is True
    assert [check["check"] for check in checked["checks"]] == CHECKS
    assert all(check["ok"] for check in checked["checks"])


def test_a_file_that_others_can_read_is_found_with_the_command_that_helps(run: Run, table: Path) -> None:
    run(*LISBON)
    table.chmod(0o644)

    checked = run("doctor")

    assert checked.code == 1
    assert lines(checked.out)["permissions"].startswith("FAIL")
    assert f"chmod 600 {str(table)!r}" in checked.out
    assert checked.out.endswith("Something needs your attention.\n")


def test_a_damaged_file_is_found_and_left_as_it_is(run: Run, table: Path) -> None:
    run(*LISBON)
    damaged = b"\0" * 1000 + table.read_bytes()[1000:]
    table.write_bytes(damaged)

    checked = run("doctor")

    assert checked.code == 1
    assert lines(checked.out)["table"].startswith("FAIL")
    assert "Restore it from a backup" in checked.out
    assert table.read_bytes() == damaged


def test_a_changed_row_is_found(run: Run, table: Path) -> None:
    run(*LISBON)
    with closing(sqlite3.connect(table)) as file:
        file.execute("UPDATE items SET body = replace(body, 'Lisbon', 'London')")
        file.commit()

    checked = run("doctor", "--json")

    (failed,) = [check for check in checked.json["checks"] if not check["ok"]]
    assert checked.code == 1
    assert failed["check"] == "items"
    assert "USER#ana FACT#~" in failed["found"]
    assert "mcp-memory-server repair" in failed["advice"]


def test_a_database_of_another_program_is_refused_and_left_as_it_is(run: Run, table: Path) -> None:
    with closing(sqlite3.connect(table)) as other:
        other.execute("CREATE TABLE recipes (name)")
    before = table.read_bytes()

    checked = run("doctor")

    assert checked.code == 1
    assert "is a database of another program" in checked.out
    assert table.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0"])
def test_a_file_that_is_no_database_is_refused(run: Run, table: Path, content: bytes) -> None:
    table.write_bytes(content)

    checked = run("doctor")

    assert checked.code == 1
    assert "left untouched" in checked.out
    assert table.read_bytes() == content


def test_a_folder_that_cannot_be_written_to_is_named_with_the_setting(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    checked = run("doctor", "--table", f"sqlite://{tmp_path}/file/memory.db")

    assert checked.code == 1
    assert "MCP_MEMORY_TABLE=sqlite:///path/to/file" in checked.out


def test_an_engine_that_does_not_answer_is_found_with_what_to_check(run: Run) -> None:
    nobody = f"dynamodb://memory?region=eu-west-1&endpoint=http://127.0.0.1:{free_port()}"

    checked = run("doctor", "--table", nobody)

    assert checked.code == 1
    assert "check that the engine runs" in checked.out


def test_a_dynamodb_table_is_checked_for_expiry_and_backups(run: Run, moto_endpoint: str) -> None:
    address = f"dynamodb://doctor-well?region=eu-west-1&endpoint={moto_endpoint}"
    run("tables", "create", "--table", address)

    checked = run("doctor", "--table", address)

    assert (checked.code, checked.out.endswith("All is well.\n")) == (0, True), checked.out
    assert "endpoint" not in lines(checked.out)["settings"]


def test_a_dynamodb_table_that_is_not_there_is_told_with_the_command_that_makes_it(
    run: Run, moto_endpoint: str
) -> None:
    checked = run("doctor", "--table", f"dynamodb://doctor-missing?region=eu-west-1&endpoint={moto_endpoint}")

    assert checked.code == 1
    assert "tables create" in checked.out


def test_a_cluster_that_does_not_answer_is_found_although_everything_works_without_it(
    run: Run, moto_endpoint: str
) -> None:
    address = f"dax://127.0.0.1:{free_port()}/doctor-dax?region=eu-west-1&endpoint={moto_endpoint}"
    run("tables", "create", "--table", address)

    checked = run("doctor", "--table", address)

    assert checked.code == 1
    assert "wrote, recalled and forgot a memory" in lines(checked.out)["probe"]
    assert "does not answer" in lines(checked.out)["cluster"]
    assert "only slower" in checked.out
