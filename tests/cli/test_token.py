"""Tokens on the command line: made once, listed without their secret, revoked."""

import json
from pathlib import Path

from tests.cli.commands import Run


def test_a_token_is_printed_once_listed_without_its_secret_and_revoked(run: Run, table: Path) -> None:
    made = run("token", "create", "--name", "laptop", "--permissions", "read,write", "--days", "30")
    (listed,) = json.loads(run("token", "list", "--json").out)
    revoked = run("token", "revoke", listed["id"])
    (after,) = json.loads(run("token", "list", "--json").out)

    token = made.out.strip()
    stored = (table.parent / "tokens.json").read_text()
    assert token.startswith(f"mcpm_{listed['id']}_")
    assert token not in stored
    assert token.split("_", 2)[2] not in stored
    assert (listed["user"], listed["name"], listed["permissions"]) == ("ana", "laptop", "memory:read memory:write")
    assert (listed["valid"], after["valid"], revoked.code) == (True, False, 0)
    assert (table.parent / "tokens.json").stat().st_mode & 0o777 == 0o600


def test_what_cannot_be_granted_or_revoked_is_named(run: Run) -> None:
    unknown = run("token", "create", "--permissions", "read,everything")
    absent = run("token", "revoke", "0123456789ab")

    assert (unknown.code, absent.code) == (2, 1)
    assert "'everything'" in unknown.err
    assert "token list" in absent.err


def test_a_file_that_others_can_read_is_refused(run: Run, table: Path) -> None:
    run("token", "create")
    (table.parent / "tokens.json").chmod(0o644)

    assert "owner only" in run("token", "list").err
