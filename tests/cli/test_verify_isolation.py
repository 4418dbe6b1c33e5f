"""`verify-isolation` tries to reach one user's memory as others, and proves first that it would see it."""

import pytest

from mcp_memory_server.cli.operating import verify_isolation
from tests.cli.commands import Run


def exported(run: Run) -> list[str]:
    return run("export", "--user", "ana").out.splitlines()[1:]


def test_nothing_crosses_and_nothing_is_left_of_the_check(run: Run) -> None:
    assert run("remember", "Ana keeps bees.", "--user", "ana").code == 0
    before = exported(run)

    done = run("verify-isolation", "--json")

    assert (done.code, done.json["crossed"], done.json["controls_failed"]) == (0, 0, [])
    assert done.json["attempts"] == 14 * done.json["controls"] == 196
    assert exported(run) == before


def test_it_sees_what_crosses(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("remember", "Ana keeps bees.").code == 0
    monkeypatch.setattr(verify_isolation, "lookalikes", lambda owner: [owner])  # a "foreign" user that is the owner

    done = run("verify-isolation", "--json")

    assert done.code == 1
    assert done.json["crossed"] == done.json["attempts"] == 14
