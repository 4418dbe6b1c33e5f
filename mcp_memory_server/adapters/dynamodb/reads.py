"""Reads rows, expired ones too, and pages of live items."""

import itertools
from collections.abc import Collection
from datetime import datetime
from typing import Any

from mcp_memory_server.adapters.dynamodb.calls import Calls, Deadline
from mcp_memory_server.adapters.dynamodb.expressions import Parameters, SortKeys, key_attributes, projection
from mcp_memory_server.adapters.dynamodb.values import Attributes, Row, row_from
from mcp_memory_server.domain.kernel.index_cursors import IndexPlace, key_cursor
from mcp_memory_server.domain.kernel.items import Item, Key, KeyPage, Page, is_expired

MAX_KEYS_PER_READ = 100

_ROWS_AFTER_EXPIRED_ONES = 100


async def read_row(calls: Calls, key: Key, deadline: Deadline, *, may_be_stale: bool = False) -> Row | None:
    """Return the row, None if there is none."""
    request = {"TableName": calls.address.name, "Key": key_attributes(key), "ConsistentRead": not may_be_stale}
    answer = await calls.send("get_item", request, deadline)
    return row_from(answer["Item"]) if "Item" in answer else None


async def read_rows(
    calls: Calls,
    keys: Collection[Key],
    deadline: Deadline,
    *,
    attributes: Collection[str] | None = None,
    may_be_stale: bool = False,
) -> dict[Key, Row]:
    """Return the rows that exist. There are at most as many different keys as one request may carry.

    ``attributes`` limits the bodies to these names; an empty collection returns the metadata of the rows only.
    """
    keys_of_it = [key_attributes(key) for key in keys]
    wanted: dict[str, Any] = {"Keys": keys_of_it, "ConsistentRead": not may_be_stale, **projection(attributes)}
    asked = {calls.address.name: wanted}
    rows: dict[Key, Row] = {}
    for attempt in itertools.count():
        answer = await calls.send("batch_get_item", {"RequestItems": asked}, deadline)
        found = map(row_from, answer["Responses"].get(calls.address.name, ()))
        rows |= {row.key: row for row in found}
        asked = answer.get("UnprocessedKeys")
        if not asked:
            break
        await calls.pause(attempt, deadline)
    return rows


async def read_page(calls: Calls, query: Parameters, keys: SortKeys, limit: int | None, now: datetime) -> Page:
    """Return live items of the query up to the limit, in as many requests as needed."""
    # One item more than wanted shows whether there is a next page.
    wanted = None if limit is None else limit + 1
    items: list[Item] = []
    deadline = calls.start()
    rows_per_request = wanted
    while True:
        narrowed = query if rows_per_request is None else {**query, "Limit": rows_per_request}
        answer = await calls.send("query", narrowed, deadline)
        # DynamoDB Local matches a prefix as a pattern, and returns too much.
        rows = [row for row in map(row_from, answer["Items"]) if row.key.sk in keys]
        items += [row.item() for row in rows if row.is_live(now)]
        if "LastEvaluatedKey" not in answer or (wanted is not None and len(items) >= wanted):
            break
        query = {**query, "ExclusiveStartKey": answer["LastEvaluatedKey"]}
        if wanted is None:
            deadline = calls.start()  # a page too large for one call is not a fault of the table
        else:
            rows_per_request = max(wanted - len(items), _ROWS_AFTER_EXPIRED_ONES)
    if limit is None or len(items) <= limit:
        return Page(tuple(items))
    return Page(tuple(items[:limit]), cursor=items[limit - 1].key.sk)


async def read_keys(calls: Calls, query: Parameters, prefix: str, limit: int) -> KeyPage:
    """Return entries of the index up to the limit."""
    places: list[IndexPlace] = []
    deadline = calls.start()
    while True:
        answer = await calls.send("query", {**query, "Limit": limit + 1}, deadline)
        found = [IndexPlace(entry["ix_sk"]["S"], Key(entry["pk"]["S"], entry["sk"]["S"])) for entry in answer["Items"]]
        # DynamoDB Local matches a prefix as a pattern.
        places += [place for place in found if place.index_sk.startswith(prefix)]
        if "LastEvaluatedKey" not in answer or len(places) > limit:
            break
        query = {**query, "ExclusiveStartKey": answer["LastEvaluatedKey"]}
    keys = tuple(place.key for place in places[:limit])
    return KeyPage(keys, places[limit - 1].to_cursor() if len(places) > limit else None)


async def read_all_keys(calls: Calls, scan: Parameters, now: datetime) -> KeyPage:
    """Return the keys of the live items that one request finds, whoever wrote them."""
    answer = await calls.send("scan", scan, calls.start())
    found = [entry for entry in answer["Items"] if not is_expired(_expiry(entry), now)]
    keys = tuple(Key(entry["pk"]["S"], entry["sk"]["S"]) for entry in found)
    last = answer.get("LastEvaluatedKey")
    return KeyPage(keys, None if last is None else key_cursor(Key(last["pk"]["S"], last["sk"]["S"])))


def _expiry(entry: Attributes) -> int | None:
    number = entry.get("expires_at", {}).get("N")
    return None if number is None else int(float(number))
