"""Commands that move or remove everything of a user."""

import json
import os
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.commands import COMMAND, LISBON, PORTO, SECONDS, Run, environment, run_apart

FULL = Path("/dev/full")
SERVER_MEMORY = [
    {"type": "entity", "name": "Ana", "entityType": "person", "observations": ["Lives in Lisbon", "Has a cat"]},
    {"type": "entity", "name": "Trams", "entityType": "company", "observations": []},
    {"type": "relation", "from": "Ana", "to": "Trams", "relationType": "works_at"},
]


@pytest.fixture
def filled(run: Run) -> Run:
    """Ana's memory with everything there is: a fact, its history, a guess, a preference, something forgotten."""
    run(*LISBON)
    run(*PORTO)
    run("remember", "Ana lives in Rome.", "--topic", "personal/location/city", "--source", "inferred")
    run("remember", "One line\u2028or two,\x85or three?")
    run("preferences", "tone", "brief")
    run("forget", run("remember", "Ana has a secret.", "--json").json["id"])
    return run


def exported(run: Run, user: str) -> list[str]:
    return run("export", "--user", user).out.split("\n")[1:]


def test_an_export_is_json_lines_on_the_standard_output(filled: Run) -> None:
    done = filled("export")

    header, *memories = [json.loads(line) for line in done.out.split("\n") if line]
    assert (header["format"], header["version"]) == ("mcp-memory-server", 2)
    assert {memory["kind"] for memory in memories} == {"fact", "past", "candidate", "preference", "forgotten"}
    assert done.err == f"exported {len(memories)} memories of 'ana'\n"


def test_what_was_exported_comes_back_whole_and_twice_is_harmless(filled: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "ana.jsonl")
    filled("export", file)

    first = filled("import", file, "--user", "bo", "--json").json
    second = filled("import", file, "--user", "bo", "--json").json

    assert exported(filled, "bo") == exported(filled, "ana")
    assert first == {"added": 6, "known": 0, "forgotten": 0}
    assert second == {"added": 0, "known": 6, "forgotten": 0}


def test_an_export_can_be_read_by_its_owner_only(filled: Run, tmp_path: Path) -> None:
    file = tmp_path / "ana.jsonl"
    file.touch(mode=0o644)

    filled("export", str(file), "--force")
    filled("export", str(tmp_path / "new.jsonl"))

    assert [f"{path.stat().st_mode & 0o777:o}" for path in (file, tmp_path / "new.jsonl")] == ["600", "600"]


def test_an_export_does_not_overwrite_unless_it_is_told_to(filled: Run, tmp_path: Path) -> None:
    file = tmp_path / "ana.jsonl"
    file.write_text("precious")

    refused = filled("export", str(file))

    assert refused.code == 2
    assert "--force" in refused.err
    assert file.read_text() == "precious"
    assert filled("export", str(file), "--force").code == 0
    assert len(file.read_text().split("\n")) > 5


def test_an_export_that_fails_leaves_the_earlier_one_and_nothing_else(filled: Run, table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    backup = folder / "ana.jsonl"
    filled("export", str(backup))
    before = backup.read_text()
    table.write_bytes(b"no database any more")

    assert filled("export", str(backup), "--force").code == 1
    assert filled("export", str(folder / "other.jsonl")).code == 1

    assert backup.read_text() == before
    assert list(folder.iterdir()) == [backup]


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
def test_a_full_disk_is_told_and_not_called_done(filled: Run, table: Path) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [*COMMAND, "export"], env=environment(), stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )

    assert (done.returncode, done.stderr) == (1, "mcp-memory-server: No space left on device\n")


def test_import_reads_the_standard_input(filled: Run) -> None:
    lines = filled("export").out

    done = run_apart("import", "-", "--user", "bo", stdin=lines)

    assert (done.code, done.out) == (0, "added 6, known before 0, forgotten before 0\n")
    assert exported(filled, "bo") == exported(filled, "ana")


def test_import_brings_in_the_file_of_server_memory(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "memory.json"
    file.write_text("\n".join(json.dumps(entry) for entry in SERVER_MEMORY))

    done = run("import", str(file))

    assert done.out == "added 3, known before 0, forgotten before 0\n"
    assert {row[-1] for row in run("facts").rows} == {
        "Ana (person): Lives in Lisbon",
        "Ana (person): Has a cat",
        "Ana works at Trams",
    }


def test_import_brings_old_conversations_along_and_twice_is_harmless(run: Run, tmp_path: Path) -> None:
    said = {"session": "2023-05-08", "id": "D1:1", "speaker": "Gina", "date": "2023-05-08T13:56", "text": "Hey Jon!"}
    (tmp_path / "talk.jsonl").write_text(json.dumps(said) + "\n")

    first = run("import", "--transcript", str(tmp_path / "talk.jsonl"))
    again = run("import", "--transcript", str(tmp_path / "talk.jsonl"), "--json").json

    assert (first.code, first.out) == (0, "added 1 turns in 1 sessions, known before 0\n")
    assert again == {"added": 0, "known": 1, "sessions": 1}


def test_a_transcript_that_is_wrong_is_told_with_its_line(run: Run, tmp_path: Path) -> None:
    (tmp_path / "talk.jsonl").write_text('{"session": "1"}\n')

    refused = run("import", "--transcript", str(tmp_path / "talk.jsonl"))

    assert refused.code == 2
    assert 'line 1: "text" must hold what was said. Nothing was imported' in refused.err


def test_import_does_not_bring_back_what_was_forgotten(filled: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "ana.jsonl")
    filled("export", file)
    (fact,) = [fact for fact in filled("facts", "--json").json if fact["text"] == "Ana lives in Porto."]
    filled("forget", fact["id"])

    done = filled("import", file, "--json").json

    assert done["forgotten"] == 3  # what held, what held before, and the guess beside it
    assert "Porto" not in filled("facts").out


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"{", "line 1 is not JSON"),
        (b'{"format": "mcp-memory-server", "version": 2}\n[]', "line 2"),
        (b'{"format": "mcp-memory-server", "version": 99}', "version 99"),
        (b'{"some": "thing"}', "neither an export of this server nor of a program that `import` knows"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_changes_nothing(filled: Run, tmp_path: Path, content: bytes, words: str) -> None:
    file, before = tmp_path / "broken", exported(filled, "ana")
    file.write_bytes(content)

    refused = filled("import", str(file))

    (line,) = refused.err.splitlines()
    assert refused.code == 2
    assert words in line
    assert exported(filled, "ana") == before


def test_a_missing_file_is_named(run: Run) -> None:
    assert (
        run("import", "nowhere.jsonl").err
        == "mcp-memory-server: cannot read 'nowhere.jsonl': No such file or directory\n"
    )


def test_forgetting_a_user_leaves_nothing_of_them_and_everything_of_others(filled: Run, table: Path) -> None:
    filled(*LISBON, "--user", "bo")

    done = filled("forget-user", "ana", "--yes")

    assert done.code == 0
    assert "nothing of 'ana' is left" in done.out
    with closing(sqlite3.connect(table)) as file:
        partitions = {pk for (pk,) in file.execute("SELECT pk FROM items")}
    # A digest of the id stays for a while, so that nothing that is queued elsewhere is written again.
    assert {one for one in partitions if not one.startswith("ERASED#")} == {"USER#bo"}
    left = b"".join(part.read_bytes() for part in table.parent.glob("memory.db*"))
    assert [word for word in (b"Porto", b"Rome", b"brief") if word in left] == []


def test_without_anybody_to_ask_nobody_is_forgotten(filled: Run) -> None:
    before = exported(filled, "ana")

    refused = run_apart("forget-user", "ana", stdin="ana\n")

    assert (refused.code, refused.out) == (2, "")
    assert "nothing was deleted" in refused.err
    assert "--yes" in refused.err
    assert exported(filled, "ana") == before


@pytest.mark.parametrize(("typed", "code"), [("ana", 0), ("bo", 2), ("", 2), ("yes", 2)])
def test_at_a_terminal_the_name_has_to_be_typed(filled: Run, typed: str, code: int) -> None:
    before = exported(filled, "ana")
    keyboard, terminal = os.openpty()
    with subprocess.Popen(
        [*COMMAND, "forget-user", "ana"],
        env=environment(),
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as asking:
        os.write(keyboard, f"{typed}\n".encode())
        _, said = asking.communicate(timeout=SECONDS)
    os.close(keyboard)
    os.close(terminal)

    assert "everything that is known about 'ana', for good. Type the name to go on:" in said
    assert asking.returncode == code
    assert (exported(filled, "ana") == before) is (code != 0)
