"""Creates, describes and deletes the table itself."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mcp_memory_server.adapters.dynamodb.address import TableAddress, connector
from mcp_memory_server.adapters.dynamodb.calls import Calls, RefusedError
from mcp_memory_server.adapters.dynamodb.expressions import INDEX
from mcp_memory_server.adapters.dynamodb.vector_index_making import index_vectors
from mcp_memory_server.adapters.dynamodb.vector_index_shape import VectorIndexShape, in_words
from mcp_memory_server.errors import ConfigurationError, TableUnavailableError

TTL_ATTRIBUTE = "expires_at"

Progress = Callable[[str], None]

_REQUEST_DEADLINE = timedelta(seconds=30)
_LONGEST_WAIT = timedelta(minutes=10)
_BETWEEN_LOOKS = timedelta(seconds=1)

_MISSING = "ResourceNotFoundException"
_IN_USE = "ResourceInUseException"
_UNKNOWN = "UnknownOperationException"

_KEYS = {"HASH": "pk", "RANGE": "sk"}
_INDEX_KEYS = {"HASH": "ix_pk", "RANGE": "ix_sk"}


@dataclass(frozen=True)
class TableDescription:
    """A table as DynamoDB describes it. DynamoDB updates the counts of items and bytes about every six hours."""

    name: str
    region: str
    status: str
    items: int
    size_bytes: int
    billing: str
    encryption: str
    index: str | None
    ttl_attribute: str | None
    point_in_time_recovery: bool | None
    """None where the endpoint does not know it."""
    deletion_protection: bool
    vector_indexes: str = "none"


async def create_table(
    table: str,
    *,
    region: str | None = None,
    endpoint: str | None = None,
    progress: Progress,
    vector_index: VectorIndexShape | None = None,
) -> TableDescription:
    """Create the table, or add what an existing one lacks. Its items are never touched.

    Raises:
        ConfigurationError: A table of this name has other keys, another index or another expiry attribute, or is not
            on demand where a vector index is wanted.
    """
    async with _calls(table, region, endpoint) as calls:
        found = await _find(calls)
        if found is None:
            progress(f"creating table {table!r}: on demand, encrypted, protected against deletion")
            await _create(calls, vector_index)
        else:
            _check_keys(found, calls.address)
            progress(f"{calls.address} is there; its items are left as they are")
        await _wait_until(calls, "ACTIVE", progress)
        progress(await _expire_items(calls))
        progress(await _keep_backups(calls))
        if vector_index is not None:
            progress(await index_vectors(calls, vector_index, progress))
        return await _describe(calls)


async def describe_table(table: str, *, region: str | None = None, endpoint: str | None = None) -> TableDescription:
    """Return the description of the table.

    Raises:
        ConfigurationError: There is no such table.
    """
    async with _calls(table, region, endpoint) as calls:
        return await _describe(calls)


async def vector_index_misfit(
    table: str, vector_index: VectorIndexShape, *, region: str | None = None, endpoint: str | None = None
) -> str | None:
    """Return in words why the vector index cannot be searched now, None if it can.

    Raises:
        ConfigurationError: There is no such table.
    """
    async with _calls(table, region, endpoint) as calls:
        return vector_index.misfit_now((await _send(calls, "describe_table"))["Table"])


async def delete_table(
    table: str, *, region: str | None = None, endpoint: str | None = None, progress: Progress
) -> None:
    """Delete the table with everything in it, its deletion protection included. A missing table is no error.

    Raises:
        ConfigurationError: A table of this name has other keys: it is not ours.
    """
    async with _calls(table, region, endpoint) as calls:
        found = await _find(calls)
        if found is None:
            progress(f"{calls.address} is not there: nothing to delete")
            return
        _check_keys(found, calls.address)
        if found.get("DeletionProtectionEnabled"):
            progress("taking the protection against deletion away")
            await _send(calls, "update_table", DeletionProtectionEnabled=False)
            await _wait_until(calls, "ACTIVE", progress)
        progress(f"deleting {calls.address}")
        await _answer_unless(calls, "delete_table", (_MISSING, _IN_USE))
        await _wait_until(calls, None, progress)


@asynccontextmanager
async def _calls(table: str, region: str | None, endpoint: str | None) -> AsyncIterator[Calls]:
    address = TableAddress(table, region, endpoint)
    calls = Calls(address, connector(address, _REQUEST_DEADLINE), deadline=_REQUEST_DEADLINE)
    try:
        yield calls
    finally:
        await calls.close()


async def _send(calls: Calls, operation: str, **parameters: Any) -> dict[str, Any]:
    return await calls.send(operation, {"TableName": calls.address.name, **parameters}, calls.start())


async def _answer_unless(
    calls: Calls, operation: str, refusals: tuple[str, ...], **parameters: Any
) -> dict[str, Any] | None:
    request = {"TableName": calls.address.name, **parameters}
    try:
        return await calls.send(operation, request, calls.start(), shown=refusals)
    except RefusedError:
        return None


async def _find(calls: Calls) -> dict[str, Any] | None:
    answer = await _answer_unless(calls, "describe_table", (_MISSING,))
    return None if answer is None else answer["Table"]


async def _create(calls: Calls, vector_index: VectorIndexShape | None) -> None:
    attributes = [{"AttributeName": name, "AttributeType": "S"} for name in (*_KEYS.values(), *_INDEX_KEYS.values())]
    vectors: dict[str, Any] = {}
    if vector_index is not None:
        attributes += vector_index.attribute_definitions
        vectors = {"VectorIndexes": [vector_index.definition]}
    # "In use" means that another process creates it at this moment, or that a reply was lost: both are fine.
    await _answer_unless(
        calls,
        "create_table",
        (_IN_USE,),
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=attributes,
        KeySchema=_schema(_KEYS),
        GlobalSecondaryIndexes=[
            {"IndexName": INDEX, "KeySchema": _schema(_INDEX_KEYS), "Projection": {"ProjectionType": "KEYS_ONLY"}}
        ],
        SSESpecification={"Enabled": True, "SSEType": "KMS"},
        DeletionProtectionEnabled=True,
        **vectors,
    )


async def _wait_until(calls: Calls, status: str | None, progress: Progress) -> None:
    end = time.monotonic() + _LONGEST_WAIT.total_seconds()
    said = None
    while (found := await _status(calls)) != status:
        if time.monotonic() > end:
            raise TableUnavailableError(f"{calls.address} is still {found} after {_LONGEST_WAIT}; check again later")
        if found != said:
            progress(f"{calls.address} is {found or 'not there yet'}, waiting")
            said = found
        await asyncio.sleep(_BETWEEN_LOOKS.total_seconds())
    progress(f"{calls.address} is {status or 'gone'}")


async def _status(calls: Calls) -> str | None:
    found = await _find(calls)
    return None if found is None else found["TableStatus"]


async def _expire_items(calls: Calls) -> str:
    attribute = await _ttl_attribute(calls)
    if attribute not in (None, TTL_ATTRIBUTE):
        raise ConfigurationError(f"{calls.address} has the TTL attribute {attribute!r}, not {TTL_ATTRIBUTE!r}")
    if attribute is None:
        wanted = {"Enabled": True, "AttributeName": TTL_ATTRIBUTE}
        await _send(calls, "update_time_to_live", TimeToLiveSpecification=wanted)
    return f"items are removed after the moment in {TTL_ATTRIBUTE!r}"


async def _keep_backups(calls: Calls) -> str:
    enabled = await _recovery(calls)
    if enabled is None:
        return "point-in-time recovery: not supported by this endpoint"
    if not enabled:
        wanted = {"PointInTimeRecoveryEnabled": True}
        await _send(calls, "update_continuous_backups", PointInTimeRecoverySpecification=wanted)
    return "point-in-time recovery is on: deleted items stay in the backups for up to 35 days"


async def _ttl_attribute(calls: Calls) -> str | None:
    described = (await _send(calls, "describe_time_to_live"))["TimeToLiveDescription"]
    return described.get("AttributeName") if described["TimeToLiveStatus"] in {"ENABLED", "ENABLING"} else None


async def _recovery(calls: Calls) -> bool | None:
    answer = await _answer_unless(calls, "describe_continuous_backups", (_UNKNOWN,))
    if answer is None:
        return None
    described = answer["ContinuousBackupsDescription"].get("PointInTimeRecoveryDescription", {})
    return described.get("PointInTimeRecoveryStatus") == "ENABLED"


async def _describe(calls: Calls) -> TableDescription:
    table = (await _send(calls, "describe_table"))["Table"]
    return TableDescription(
        name=calls.address.name,
        region=calls.address.region or "",
        status=table["TableStatus"],
        items=table.get("ItemCount", 0),
        size_bytes=table.get("TableSizeBytes", 0),
        billing=_billing(table),
        encryption=_encryption(table, calls.address),
        index=INDEX if _keys_of_index(table) == _INDEX_KEYS else None,
        ttl_attribute=await _ttl_attribute(calls),
        point_in_time_recovery=await _recovery(calls),
        deletion_protection=table.get("DeletionProtectionEnabled", False),
        vector_indexes="; ".join(map(in_words, table.get("VectorIndexes", ()))) or "none",
    )


def _billing(table: Mapping[str, Any]) -> str:
    mode = table.get("BillingModeSummary", {}).get("BillingMode")
    return "on demand" if mode == "PAY_PER_REQUEST" else "provisioned"


def _encryption(table: Mapping[str, Any], address: TableAddress) -> str:
    described = table.get("SSEDescription", {})
    if described.get("Status") == "ENABLED":
        return f"{described.get('SSEType', 'KMS')} key"
    return "not reported by this endpoint" if address.endpoint else "key owned by AWS"


def _schema(keys: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for kind, name in keys.items()]


def _keys(schema: list[dict[str, str]]) -> dict[str, str]:
    return {part["KeyType"]: part["AttributeName"] for part in schema}


def _keys_of_index(table: Mapping[str, Any]) -> dict[str, str] | None:
    indexes = table.get("GlobalSecondaryIndexes", [])
    return next((_keys(index["KeySchema"]) for index in indexes if index["IndexName"] == INDEX), None)


def _check_keys(table: Mapping[str, Any], address: TableAddress) -> None:
    types = {part["AttributeName"]: part["AttributeType"] for part in table["AttributeDefinitions"]}
    if _keys(table["KeySchema"]) != _KEYS or {types[name] for name in _KEYS.values()} != {"S"}:
        raise ConfigurationError(f"{address} belongs to another program: its keys are not 'pk' and 'sk', both strings")
    if _keys_of_index(table) != _INDEX_KEYS:
        raise ConfigurationError(f"{address} has no index {INDEX!r} on 'ix_pk' and 'ix_sk'; choose another name")
