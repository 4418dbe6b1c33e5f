"""Commands for the table itself."""

import uuid

import pytest

from tests.cli.commands import LISBON, Run


@pytest.fixture
def address(moto_endpoint: str) -> str:
    return f"dynamodb://cli-{uuid.uuid4().hex}?region=eu-west-1&endpoint={moto_endpoint}"


def test_create_shows_its_progress_and_is_harmless_twice(run: Run, address: str) -> None:
    first = run("tables", "create", "--table", address)
    run(*LISBON, "--table", address)
    second = run("tables", "create", "--table", address)

    assert (first.code, second.code) == (0, 0)
    assert "creating table" in first.err
    assert "is ACTIVE" in first.err
    assert first.out.startswith("ready: cli-")
    assert first.out.endswith(" in eu-west-1\n")
    assert "its items are left as they are" in second.err
    assert [row[-1] for row in run("facts", "--table", address).rows] == ["Ana lives in Lisbon."]


def test_describe_is_a_table_or_json(run: Run, address: str) -> None:
    run("tables", "create", "--table", address)

    rows = dict(run("tables", "describe", "--table", address).rows)
    described = run("tables", "describe", "--table", address, "--json").json

    assert rows["status"] == "ACTIVE"
    assert rows["ttl attribute"] == "expires_at"
    assert described["billing"] == "on demand"
    assert described["deletion_protection"] is True


def test_delete_takes_the_table_away(run: Run, address: str) -> None:
    run("tables", "create", "--table", address)

    deleted = run("tables", "delete", "--table", address, "--yes")
    again = run("tables", "delete", "--table", address, "--yes")

    assert (deleted.code, deleted.out) == (0, "deleted\n")
    assert again.code == 0
    assert "nothing to delete" in again.err
    assert run("tables", "describe", "--table", address).code == 2


def test_delete_does_nothing_without_a_yes(run: Run, address: str) -> None:
    run("tables", "create", "--table", address)

    refused = run("tables", "delete", "--table", address)

    assert refused.code == 2
    assert "nothing was deleted" in refused.err
    assert run("tables", "describe", "--table", address).code == 0


@pytest.mark.parametrize("action", [["create"], ["delete", "--yes"]])
def test_a_file_needs_neither_making_nor_deleting(run: Run, action: list[str]) -> None:
    refused = run("tables", *action)

    (line,) = refused.err.splitlines()
    assert refused.code == 2
    assert "delete the file" in line
    assert "MCP_MEMORY_TABLE=dynamodb://" in line


def test_a_file_can_be_described(run: Run) -> None:
    run(*LISBON)

    rows = dict(run("tables", "describe").rows)

    assert rows["mode"] == "600"
    assert int(rows["items"]) >= 1


def test_a_file_that_is_not_there_is_not_made_by_describing_it(run: Run) -> None:
    assert "made when first used" in run("tables", "describe").err
    assert run("tables", "describe").code == 2
