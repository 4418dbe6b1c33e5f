"""The command that saves what can be saved, and changes nothing before it is told to."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.cli.commands import LISBON, Run
from tests.stores.tables import DynamoDbTables


def damage(table: Path, text: bytes, *, bits: int = 1) -> bytes:
    """Change letters of a text in the file, and return the file as it is then."""
    with closing(sqlite3.connect(table)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(table.read_bytes())
    at = data.index(text)
    for place in range(bits):
        data[at + place] ^= 1
    table.write_bytes(data)
    return bytes(data)


def test_nothing_is_wrong_with_a_sound_file(run: Run, table: Path) -> None:
    run(*LISBON)

    checked = run("repair", "--json")

    assert (checked.code, checked.json["ok"], checked.json["file"]["damaged"]) == (0, True, False)
    assert checked.json["items"]["damaged"] == []


def test_without_apply_nothing_is_changed(run: Run, table: Path) -> None:
    run(*LISBON)
    before = damage(table, b"Lisbon")

    checked = run("repair")

    assert checked.code == 1
    assert "1 of them by turning back one bit" in checked.out
    assert "--apply" in checked.err
    assert table.read_bytes() == before


def test_a_row_with_one_wrong_bit_is_mended(run: Run, table: Path) -> None:
    run(*LISBON)
    damage(table, b"Lisbon")

    repaired = run("repair", "--apply", "--json")

    assert (repaired.code, repaired.json["file"]["mended"], repaired.json["file"]["lost"]) == (0, 1, [])
    assert "Ana lives in Lisbon." in run("facts").out
    assert Path(repaired.json["file"]["kept"]).exists()
    assert run("doctor").code == 0


def test_a_row_that_is_lost_is_named_and_everything_else_is_there(run: Run, table: Path) -> None:
    run(*LISBON)
    run("remember", "Ana has a bicycle.")
    damage(table, b"bicycle", bits=3)

    named = run("doctor")
    repaired = run("repair", "--apply", "--json")

    assert "1 cannot be read: USER#ana FACT#~" in named.out
    assert [name.split("~")[0] for name in repaired.json["file"]["lost"]] == ["USER#ana FACT#"]
    assert "Ana lives in Lisbon." in run("facts").out
    assert run("doctor").code == 0


@pytest.mark.parametrize("beginning", [100, 1000, 4096])
def test_a_file_without_its_beginning_is_made_anew(run: Run, table: Path, beginning: int) -> None:
    run(*LISBON)
    damage(table, b"Lisbon", bits=0)
    table.write_bytes(b"\0" * beginning + table.read_bytes()[beginning:])
    refused = run("facts")

    repaired = run("repair", "--apply")

    assert (refused.code, repaired.code) == (1, 0), repaired.err
    assert "Ana lives in Lisbon." in run("facts").out


def test_what_was_forgotten_does_not_come_back(run: Run, table: Path) -> None:
    run(*LISBON)
    run("remember", "Ana has a bicycle.")
    fact = next(one for one in run("facts", "--json").json if "bicycle" in one["text"])
    run("forget", fact["id"])
    damage(table, b"Lisbon")

    run("repair", "--apply")

    assert "bicycle" not in run("facts", "--history").out


def test_a_database_of_another_program_is_left_alone(run: Run, table: Path) -> None:
    with closing(sqlite3.connect(table)) as other:
        other.execute("CREATE TABLE recipes (name)")
    before = table.read_bytes()

    checked = run("repair", "--apply")

    assert checked.code == 2
    assert "another program" in checked.err
    assert table.read_bytes() == before


def test_items_of_another_program_on_dynamodb_are_named_and_moved(
    run: Run, dynamodb_local_tables: DynamoDbTables
) -> None:
    with dynamodb_local_tables.fresh() as address:
        url = f"dynamodb://{address.table}?region=eu-central-1&endpoint={address.endpoint}"
        run(*LISBON, "--table", url)
        resource: Any = boto3.resource("dynamodb", endpoint_url=address.endpoint)
        items = resource.Table(address.table)
        items.put_item(Item={"pk": "USER#ana", "sk": "FACT#~foreign", "text": "no version"})
        items.put_item(Item={"pk": "USER#ana", "sk": "FACT#~broken", "version": 1, "op": "x"})

        partial = run("recall", "Where does Ana live?", "--table", url)
        before = run("repair", "--json", "--table", url)
        moved = run("repair", "--apply", "--json", "--table", url)
        after = run("repair", "--json", "--table", url)

    assert "Ana lives in Lisbon." in partial.out
    assert "2 stored memories could not be read" in partial.err
    named = {one["item"] for one in before.json["items"]["damaged"]}
    assert (before.code, named) == (1, {"USER#ana FACT#~foreign", "USER#ana FACT#~broken"})
    assert moved.code == 0
    assert (after.json["ok"], after.json["items"]["damaged"], after.json["items"]["quarantined"]) == (True, [], 2)
