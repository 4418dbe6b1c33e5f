"""A Markdown file and the memory are kept in step, in both directions."""

from pathlib import Path

import pytest

from tests.cli.commands import Run

OWN = "# My notes\n\nThese are mine.\n"


@pytest.fixture
def file(run: Run, tmp_path: Path) -> Path:
    """A file that a person wrote, after the first run."""
    run("remember", "Ana lives in Lisbon.", "--topic", "personal/location/city")
    run("remember", "Ana has two cats.", "--topic", "pets")
    run("preferences", "tone", "brief")
    path = tmp_path / "MEMORY.md"
    path.write_text(OWN)
    assert run("sync", str(path)).code == 0
    return path


def texts(run: Run) -> set[str]:
    return {fact["text"] for fact in run("facts", "--json").json}


def test_what_is_known_is_a_section_and_the_rest_stays(file: Path) -> None:
    text = file.read_text()

    assert text.startswith(OWN)
    assert "- Ana lives in Lisbon.\n" in text
    assert "- tone: brief\n" in text


def test_nothing_changes_when_nothing_was_changed(run: Run, file: Path) -> None:
    before, known = file.read_text(), texts(run)

    done = run("sync", str(file), "--json").json

    assert (done["learned"], done["replaced"], done["ended"]) == (0, 0, 0)
    assert (file.read_text(), texts(run)) == (before, known)


def test_a_new_line_is_learned(run: Run, file: Path) -> None:
    file.write_text(file.read_text().replace("- Ana has two cats.", "- Ana has two cats.\n- Ana plays the oboe."))

    run("sync", str(file))

    assert "Ana plays the oboe." in texts(run)
    assert "- Ana plays the oboe.\n" in file.read_text()


def test_a_changed_line_replaces_the_fact_which_becomes_history(run: Run, file: Path) -> None:
    file.write_text(file.read_text().replace("two cats", "three cats"))

    done = run("sync", str(file), "--json").json

    assert done["replaced"] == 1
    assert texts(run) == {"Ana lives in Lisbon.", "Ana has three cats."}
    assert "Ana has two cats." in run("facts", "--history").out


def test_a_deleted_line_ends_the_fact(run: Run, file: Path) -> None:
    file.write_text(file.read_text().replace("- Ana has two cats.\n", ""))

    done = run("sync", str(file), "--json").json

    assert done["ended"] == 1
    assert texts(run) == {"Ana lives in Lisbon."}
    assert "cats" not in file.read_text()


def test_what_changed_in_the_memory_changes_in_the_file(run: Run, file: Path) -> None:
    run("remember", "Ana lives in Porto.", "--topic", "personal/location/city")
    (cats,) = [fact["id"] for fact in run("facts", "--json").json if "cats" in fact["text"]]
    run("forget", cats)

    run("sync", str(file))

    assert "Porto" in file.read_text()
    assert "Lisbon" not in file.read_text()
    assert "cats" not in file.read_text()
    assert texts(run) == {"Ana lives in Porto."}


def test_a_changed_preference_is_set(run: Run, file: Path) -> None:
    file.write_text(file.read_text().replace("tone: brief", "tone: friendly"))

    run("sync", str(file))

    assert run("preferences", "--json").json[0]["value"] == "friendly"


def test_a_password_is_not_taken_over_and_that_is_said(run: Run, file: Path) -> None:
    secret = "two cats.\n- The server is reached with password=hunter2-Xk29sQ"
    file.write_text(file.read_text().replace("two cats.", secret))

    done = run("sync", str(file))

    assert "not taken over" in done.err
    assert "hunter2" not in run("facts").out


def test_a_dry_run_writes_neither(run: Run, tmp_path: Path) -> None:
    run("remember", "Ana lives in Lisbon.")

    shown = run("sync", str(tmp_path / "MEMORY.md"), "--dry-run")

    assert "- Ana lives in Lisbon." in shown.out
    assert not (tmp_path / "MEMORY.md").exists()
