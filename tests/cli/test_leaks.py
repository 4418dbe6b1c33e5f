"""What a process prints about itself, at any level: never a text, a name or a secret of a user."""

import json
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.commands import COMMAND, environment
from tests.stores.tables import DynamoDbAddress, DynamoDbTables

SECRETS = ("Quetzalcoatl", "ximena", "personal/zanzibar")
SECONDS = 120


def printed(table: str, **variables: str) -> str:
    """Return what a process prints to standard error while it saves, finds and lists."""
    said = ""
    for command in (["remember", f"Her boat is {SECRETS[0]}.", "--topic", SECRETS[2]], ["recall", "boat"], ["doctor"]):
        own = environment(MCP_MEMORY_TABLE=table, MCP_MEMORY_USER=SECRETS[1], MCP_MEMORY_LOG_LEVEL="DEBUG", **variables)
        done = subprocess.run([*COMMAND, *command], env=own, capture_output=True, text=True, timeout=SECONDS)
        assert done.returncode == 0 or command == ["doctor"], done.stderr  # which misses backups here
        said += done.stderr
    return said


@pytest.fixture
def dynamodb_table(dynamodb_local_tables: DynamoDbTables) -> Iterator[DynamoDbAddress]:
    with dynamodb_local_tables.fresh() as address:
        yield address


def test_the_debug_level_prints_no_request_to_dynamodb(dynamodb_table: DynamoDbAddress) -> None:
    endpoint = dynamodb_table.endpoint.replace(":", "%3A").replace("/", "%2F")
    table = f"dynamodb://{dynamodb_table.table}?region=eu-central-1&endpoint={endpoint}"
    keys = {"AWS_ACCESS_KEY_ID": "AKIDQUETZAL", "AWS_SECRET_ACCESS_KEY": "verysecret"}

    said = printed(table, **keys)

    assert [secret for secret in (*SECRETS, *keys.values()) if secret in said] == []
    assert "botocore" not in said


@pytest.mark.parametrize("place", ["stderr", "a file"])
def test_every_write_has_a_line_in_the_audit_that_names_nobody(tmp_path: Path, place: str) -> None:
    file = tmp_path / "audit.jsonl"

    said = printed(f"sqlite://{tmp_path}/memory.db", MCP_MEMORY_AUDIT="stderr" if place == "stderr" else str(file))

    written = said if place == "stderr" else file.read_text()
    lines = [json.loads(line) for line in written.splitlines() if line.startswith("{")]
    assert len([line for line in lines if line["result"] == "ok"]) >= 4
    assert {line["result"] for line in lines} <= {"ok", "failed"}  # background work may end with the process
    assert {line["actor"] for line in lines} == {"process"}
    assert len({line["user"] for line in lines} - {None}) == 2  # ximena, and the user of the doctor's trial
    assert all(line["bytes"] > 0 for line in lines if line["write"] != "delete")
    assert [secret for secret in SECRETS if secret in written] == []
    if place == "a file":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
