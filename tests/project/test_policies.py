"""The policies in docs/policies allow exactly the operations that the code calls, and one user exactly their keys."""

import json
from collections import defaultdict
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest

from mcp_memory_server import Scope, Statement, open_memory
from mcp_memory_server.cli.operating.verify_isolation import _attempts as attempts
from mcp_memory_server.cli.operating.verify_isolation import _saved as saved
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.schema.keys import encoded
from tests.engines.http_proxy import Asked, Fate, HttpProxy
from tests.faults.conversations import dynamodb_url, settings, until_delivered
from tests.stores.tables import DynamoDbTables

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).parents[2] / "docs" / "policies"
WRITES_IN_TRANSACTIONS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "ConditionCheck": "ConditionCheckItem",
}
SHARED = ("FOLD#*", "ENDINGS#*", "SPENDING")
"""What background work needs beside the keys of a user: it has a role of its own."""


def policy(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / f"{name}.json").read_text())["Statement"]


def allowed(name: str) -> set[str]:
    return {action.partition(":")[2] for each in policy(name) if each["Effect"] == "Allow" for action in each["Action"]}


@pytest.fixture
def address(dynamodb_local_tables: DynamoDbTables) -> Any:
    with dynamodb_local_tables.fresh() as address:
        yield address


@pytest.fixture
async def asked(tmp_path: Path, address: Any) -> dict[str, set[str]]:
    """What a user's use of everything asks of DynamoDB: the keys under each operation."""
    found: dict[str, set[str]] = defaultdict(set)

    def look(asked: Asked) -> Fate:
        body = json.loads(asked.body)
        if asked.operation == "TransactWriteItems":
            for write in body["TransactItems"]:
                ((kind, parts),) = write.items()
                found[WRITES_IN_TRANSACTIONS[kind]].add((parts.get("Key") or parts["Item"])["pk"]["S"])
        else:
            found[asked.operation] |= _keys(asked.operation, body)
        return Fate.PASSES

    async with HttpProxy(address.endpoint) as proxy:
        proxy.decide(look)
        chosen = settings(tmp_path, table=dynamodb_url(address.table, proxy.endpoint))
        async with open_memory(chosen, finalize_sessions=True) as memory:
            owner = Scope("Ana #1")
            calls = await saved(memory, owner, "marker")
            long = "".join(chr(33 + (number * 7919) % 90) for number in range(900_000))
            session = Scope(owner.user_id, "long")
            await memory.conversations.append(session, NewTurn(Role.USER, long, token_count=1))
            await memory.conversations.load(session, turns=5)
            await memory.facts.learn(owner, Statement("Ana lives in Lisbon.", topic="home"))
            await attempts(memory, owner, calls, "marker")
            await memory.conversations.end(session)
            await memory.finalizer.finish_due()
            await until_delivered(memory)
            await memory.erasure.forget_user(owner)
    return found


def _keys(operation: str, body: dict[str, Any]) -> set[str]:
    if operation == "Query":
        names = body.get("ExpressionAttributeValues", {})
        (key,) = [value["S"] for name, value in names.items() if name == ":pk"] or [""]
        return {key}
    if operation == "BatchGetItem":
        return {key["pk"]["S"] for request in body["RequestItems"].values() for key in request["Keys"]}
    if operation == "BatchWriteItem":
        return {
            (write.get("DeleteRequest", {}).get("Key") or write["PutRequest"]["Item"])["pk"]["S"]
            for request in body["RequestItems"].values()
            for write in request
        }
    return {(body.get("Key") or body.get("Item") or {"pk": {"S": ""}})["pk"]["S"]}


async def test_the_policy_of_the_server_allows_exactly_what_is_called(asked: dict[str, set[str]]) -> None:
    assert asked.keys() == allowed("server") == allowed("one-user") == allowed("dax")


async def test_the_policy_of_one_user_covers_their_keys_and_no_others(asked: dict[str, set[str]]) -> None:
    patterns = [
        key
        for each in policy("one-user")
        for key in each.get("Condition", {}).get("ForAllValues:StringLike", {}).get("dynamodb:LeadingKeys", ())
    ]
    own, other = ([one.replace("OWNER", encoded(user)) for one in patterns] for user in ("Ana #1", "Ana"))
    keys = {key for some in asked.values() for key in some if not _matches(key, SHARED)}

    assert len(keys) > 8
    assert [key for key in keys if not _matches(key, own)] == []
    assert {key for key in keys if _matches(key, other)} <= {
        key for key in keys if _matches(key, ("COPIES", "ERASED#*"))
    }


def _matches(key: str, patterns: Any) -> bool:
    return any(fnmatchcase(key, one.replace("[", "[[]")) for one in patterns)
