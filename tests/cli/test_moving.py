"""Exports of everything, of everybody, interrupted ones, and those for people."""

import json
import signal
import sqlite3
import subprocess
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.commands import COMMAND, LISBON, PORTO, SECONDS, Run, environment, run_apart

SAID = [
    {"session": "monday", "id": "1", "speaker": "user", "date": "2026-03-02T10:00", "text": "Where is my parcel?"},
    {"session": "monday", "id": "2", "role": "assistant", "date": "2026-03-02T10:01", "text": "It is on its way."},
    {"session": "friday", "id": "1", "speaker": "Gina", "date": "2026-03-06T09:00", "text": "# It came!\n*Thanks.*"},
]
MANY = 400


@pytest.fixture
def talked(run: Run, tmp_path: Path) -> Run:
    """Ana's memory with facts, preferences, conversations and something forgotten; and a fact of Bo's."""
    run(*LISBON)
    run(*PORTO)
    run("preferences", "tone", "brief")
    run("forget", run("remember", "Ana has a secret.", "--json").json["id"])
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in SAID))
    run("import", "--transcript", str(tmp_path / "talk.jsonl"))
    run("remember", "Bo plays the *oboe*.", "--user", "bo")
    return run


@pytest.fixture
def large(run: Run, tmp_path: Path) -> Path:
    """An export that takes a moment to import."""
    turns = [{"session": f"s{number % 4}", "id": str(number), "text": f"Said {number}."} for number in range(MANY)]
    (tmp_path / "many.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns))
    run("import", "--transcript", str(tmp_path / "many.jsonl"))
    run("export", str(tmp_path / "large.jsonl"))
    return tmp_path / "large.jsonl"


def stored_items(file: Path) -> int:
    try:
        with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM items").fetchone()[0]
    except sqlite3.Error:
        return 0


def lines(text: str) -> list[str]:
    return [line for line in text.split("\n") if line and not line.startswith('{"format"')]


def test_an_export_holds_conversations_and_says_so(talked: Run, tmp_path: Path) -> None:
    done = talked("export", str(tmp_path / "ana.jsonl"))

    kinds = [json.loads(line)["kind"] for line in lines((tmp_path / "ana.jsonl").read_text())]
    assert (kinds.count("turn"), kinds.count("session")) == (3, 2)
    assert done.err == f"exported {len(kinds) - 5} memories and 3 turns in 2 sessions of 'ana'\n"


def test_an_export_of_everybody_gives_everybody_back_what_is_theirs(talked: Run, tmp_path: Path) -> None:
    file = str(tmp_path / "all.jsonl")
    done = talked("export", "--all", file)
    before = {user: lines(talked("export", "--user", user).out) for user in ("ana", "bo")}
    elsewhere = f"sqlite://{tmp_path}/elsewhere.db"

    imported = talked("import", "--all", file, "--table", elsewhere)

    assert "of 2 users" in done.err
    assert imported.out.startswith("added ")
    after = {user: lines(talked("export", "--user", user, "--table", elsewhere).out) for user in ("ana", "bo")}
    assert after == before


def test_a_file_of_several_users_is_not_taken_for_that_of_one(talked: Run, tmp_path: Path) -> None:
    talked("export", "--all", str(tmp_path / "all.jsonl"))

    refused = talked("import", str(tmp_path / "all.jsonl"), "--user", "carla")

    assert refused.code == 2
    assert "several users; import it with --all" in refused.err
    assert talked("facts", "--user", "carla", "--json").json == []


@pytest.mark.parametrize("stopped_after", [1, 4, 7, 10])
def test_an_interrupted_export_continues_after_its_last_whole_line(
    talked: Run, tmp_path: Path, stopped_after: int
) -> None:
    talked("export", "--all", str(tmp_path / "whole.jsonl"))
    whole = (tmp_path / "whole.jsonl").read_text()
    beginning = whole.split("\n")[:stopped_after]
    (tmp_path / "other.jsonl.part").write_text("\n".join(beginning) + '\n{"kind": "fact", "ke')

    refused = talked("export", "--all", str(tmp_path / "other.jsonl"))
    done = talked("export", "--all", "--resume", str(tmp_path / "other.jsonl"))

    assert (refused.code, done.code) == (2, 0)
    assert "--resume continues it" in refused.err
    assert lines((tmp_path / "other.jsonl").read_text()) == lines(whole)
    assert not (tmp_path / "other.jsonl.part").exists()


def test_an_export_that_is_killed_can_be_resumed(large: Path, run: Run, tmp_path: Path) -> None:
    target = tmp_path / "killed.jsonl"
    command = [*COMMAND, "export", str(target)]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL) as exporting:
        part, give_up = tmp_path / "killed.jsonl.part", time.monotonic() + SECONDS
        while not part.exists() and exporting.poll() is None and time.monotonic() < give_up:
            time.sleep(0.005)
        exporting.send_signal(signal.SIGKILL)

    if part.exists():
        done = run("export", "--resume", str(target))
        assert done.code == 0, done.err

    assert lines(target.read_text()) == lines(large.read_text())


def test_there_must_be_something_to_resume(talked: Run, tmp_path: Path) -> None:
    for arguments in (["--resume", str(tmp_path / "none.jsonl")], ["--resume"]):
        refused = talked("export", *arguments)
        assert refused.code == 2, arguments
        assert "resume" in refused.err


def test_an_import_that_is_killed_is_completed_by_the_same_command(large: Path, run: Run, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere.db"
    command = [*COMMAND, "import", str(large), "--table", f"sqlite://{elsewhere}"]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL) as importing:
        give_up = time.monotonic() + SECONDS
        while stored_items(elsewhere) < MANY // 10 and time.monotonic() < give_up:
            time.sleep(0.01)
        importing.send_signal(signal.SIGKILL)

    done = run("import", str(large), "--table", f"sqlite://{elsewhere}", "--json").json

    assert done["added"] + done["known"] == MANY
    assert lines(run("export", "--table", f"sqlite://{elsewhere}").out) == lines(large.read_text())


def test_standard_input_is_streamed_like_a_file(talked: Run, tmp_path: Path) -> None:
    exported = talked("export").out

    done = run_apart("import", "-", "--user", "carla", stdin=exported)

    assert (done.code, done.err) == (0, "")
    assert lines(talked("export", "--user", "carla").out) == lines(exported)


def test_a_page_for_people_shows_everything_in_words(talked: Run, tmp_path: Path) -> None:
    file = tmp_path / "ana.md"
    done = talked("export", "--markdown", str(file))
    page = file.read_text()

    assert done.code == 0
    for text in (
        "# Memory of ana",
        "### personal/location/city",
        "- Ana lives in Porto.",
        "## What was true earlier",
        "- tone: brief",
        "Forgotten on request, and not kept as text: 1.",
        "## Conversation monday",
        "**user** 2026-03-02 10:00 UTC\n\n> Where is my parcel?",
        "**Gina** 2026-03-06 09:00 UTC\n\n> # It came!\n> *Thanks.*",
    ):
        assert text in page, text
    assert "secret" not in page


def test_a_page_escapes_what_markdown_would_format(talked: Run) -> None:
    assert "- Bo plays the \\*oboe\\*." in talked("export", "--markdown", "--user", "bo").out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["export", "--all", "--user", "ana"], "either --user NAME or --all"),
        (["export", "--markdown", "--all"], "one user"),
        (["import", "x.jsonl", "--all", "--user", "ana"], "--all"),
        (["import", "x.jsonl", "--all", "--transcript"], "--all"),
    ],
)
def test_options_that_exclude_each_other_are_refused(talked: Run, arguments: list[str], words: str) -> None:
    refused = talked(*arguments)

    assert refused.code == 2
    assert words in refused.err
