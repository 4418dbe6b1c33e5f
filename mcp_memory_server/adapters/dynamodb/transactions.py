"""Several writes as one transaction: the request, and the meaning of a refusal."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime

from mcp_memory_server.adapters.dynamodb.expressions import (
    Parameters,
    delete_parts,
    fresh_parts,
    put_parts,
    update_parts,
)
from mcp_memory_server.adapters.dynamodb.values import Row
from mcp_memory_server.domain.kernel.items import (
    Delete,
    Key,
    Put,
    Update,
    Write,
)

_TOKEN_LENGTH = 36


def transaction(
    table: str, writes: Sequence[Write], rows: Mapping[Key, Row], operation: str, now: datetime
) -> Parameters:
    """Return the request. ``rows`` are the rows as they were read, expired ones too."""
    actions = [_action(table, write, rows.get(write.key), operation, now) for write in writes]
    return {"TransactItems": actions, "ClientRequestToken": _token(operation, actions)}


def is_repeat(rows: Mapping[Key, Row], operation: str, now: datetime) -> bool:
    """Return whether one row shows that the writes have happened: they happen together or not at all."""
    return any(row.is_live(now) and row.version_after(operation) is not None for row in rows.values())


def conflicting(
    writes: Sequence[Write], reasons: Sequence[str], rows: Mapping[Key, Row], now: datetime
) -> Write | None:
    """Return the first write that a retry cannot save, None if all may still succeed."""
    refused = (write for write, reason in zip(writes, reasons, strict=True) if reason == "ConditionalCheckFailed")
    return next((write for write in refused if not _has_hope(write, rows.get(write.key), now)), None)


def _has_hope(write: Write, row: Row | None, now: datetime) -> bool:
    if write.expected_version is None:
        return True
    starts_anew = row is not None and not row.is_live(now)
    return isinstance(write, Update) and write.expected_version == 0 and starts_anew


def _action(table: str, write: Write, row: Row | None, operation: str, now: datetime) -> Parameters:
    live = row is not None and row.is_live(now)
    match write:
        case Put():
            found = row.version if row is not None and live else 0
            expected = found if write.expected_version is None else write.expected_version
            return {"Put": {"TableName": table, **put_parts(write, expected, operation, now)}}
        case Update() if row is not None and not live and not write.expected_version:
            return {"Put": {"TableName": table, **fresh_parts(write, operation, now)}}
        case Update():
            return {"Update": {"TableName": table, **update_parts(write, operation, now)}}
        case Delete():
            return {"Delete": {"TableName": table, **delete_parts(write, now)}}


def _token(operation: str, actions: Sequence[Parameters]) -> str:
    # From the content too: after a conflict the content changes, and DynamoDB rejects an old token with new content.
    content = json.dumps([operation, actions], sort_keys=True, default=bytes.hex)
    return hashlib.sha256(content.encode()).hexdigest()[:_TOKEN_LENGTH]
