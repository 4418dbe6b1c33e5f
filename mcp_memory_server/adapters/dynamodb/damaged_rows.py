"""Move rows that another program wrote, or broke, out of the way, so that their keys can be written again."""

import json
from typing import Any

from mcp_memory_server.adapters.dynamodb.calls import Calls, Deadline, RefusedError
from mcp_memory_server.adapters.dynamodb.expressions import key_attributes, put_parts
from mcp_memory_server.adapters.dynamodb.values import row_from
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.domain.kernel.items import Item, Key, Page, quarantine_put


async def quarantine(calls: Calls, key: Key, deadline: Deadline) -> None:
    """Move the row to the quarantine if it is still one that cannot be read."""
    table = calls.address.name
    asked = {"TableName": table, "Key": key_attributes(key), "ConsistentRead": True}
    found = (await calls.send("get_item", asked, deadline)).get("Item")
    if found is None or not row_from(found).is_damaged:
        return
    raw = json.dumps(found, default=lambda value: bytes(value).hex(), sort_keys=True).encode()
    put = quarantine_put(key, raw, "another program wrote it", utc_now())
    await calls.send("put_item", {"TableName": table, **put_parts(put, 0, put.key.sk[-32:], utc_now())}, deadline)
    version = found.get("version")
    is_as_read: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(version)"}
    if version is not None:
        is_as_read = {"ConditionExpression": "version = :read", "ExpressionAttributeValues": {":read": version}}
    try:
        await calls.send("delete_item", {"TableName": table, "Key": key_attributes(key), **is_as_read}, deadline)
    except RefusedError:
        return  # somebody else was first


async def scan(calls: Calls, limit: int, cursor: str | None) -> Page:
    """Return a page of all items of the table."""
    request: dict[str, Any] = {"TableName": calls.address.name, "Limit": limit, "ConsistentRead": True}
    if cursor is not None:
        pk, sk = json.loads(cursor)
        request["ExclusiveStartKey"] = key_attributes(Key(pk, sk))
    answer = await calls.send("scan", request, calls.start())
    items: list[Item] = [row_from(attributes).item() for attributes in answer["Items"]]
    last = answer.get("LastEvaluatedKey")
    return Page(tuple(items), None if last is None else json.dumps([last["pk"]["S"], last["sk"]["S"]]))
