"""The item table on DynamoDB."""

import itertools
import re
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from mcp_memory_server.adapters.dynamodb.address import TableAddress, connector
from mcp_memory_server.adapters.dynamodb.calls import Calls, Deadline, RefusedError
from mcp_memory_server.adapters.dynamodb.damaged_rows import quarantine, scan
from mcp_memory_server.adapters.dynamodb.expressions import (
    SortKeys,
    check_query,
    delete_row_parts,
    find_parts,
    fresh_parts,
    key_attributes,
    list_parts,
    put_parts,
    query_parts,
    update_parts,
)
from mcp_memory_server.adapters.dynamodb.reads import (
    MAX_KEYS_PER_READ,
    read_all_keys,
    read_keys,
    read_page,
    read_row,
    read_rows,
)
from mcp_memory_server.adapters.dynamodb.transactions import conflicting, is_repeat, transaction
from mcp_memory_server.adapters.dynamodb.values import Row, row_from
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.domain.kernel.index_cursors import key_from, place_from
from mcp_memory_server.domain.kernel.item_checks import (
    check_cursor,
    check_operation_id,
    checked_put,
    checked_update,
    checked_writes,
)
from mcp_memory_server.domain.kernel.items import Item, Key, KeyPage, Page, Put, Update, Write
from mcp_memory_server.errors import ConflictError, MemoryServerError, TableUnavailableError

DEADLINE = timedelta(seconds=5)
MAX_DELETES_PER_REQUEST = 25

_KIND = re.compile(r"#?([A-Z]{1,16})(?:#|$)")


def open_dynamodb(
    table: str,
    *,
    region: str | None = None,
    endpoint: str | None = None,
    deadline: timedelta = DEADLINE,
    now: Callable[[], datetime] = utc_now,
) -> "DynamoDbItemTable":
    """Return the table, without a request: a missing table or credential shows when it is first used.

    Raises:
        ConfigurationError: The name or the endpoint cannot be one.
    """
    address = TableAddress(table, region, endpoint)
    return DynamoDbItemTable(Calls(address, connector(address, deadline), deadline=deadline), now=now)


class DynamoDbItemTable:
    """Answers the item table's port on DynamoDB. Each call has one deadline; a bulk call has one for each request.

    A lost reply is resolved by the operation ids in the row. One case stays open: an update without an expected
    version is applied twice if its reply was lost and another process replaced the whole item before the retry,
    because a put drops the ids of earlier updates.
    """

    def __init__(self, calls: Calls, *, now: Callable[[], datetime] = utc_now) -> None:
        self._calls = calls
        self._now = now

    async def get(self, key: Key, *, may_be_stale: bool = False) -> Item | None:
        """See the port."""
        row = await read_row(self._calls, key, self._calls.start(), may_be_stale=may_be_stale)
        return row.item() if row is not None and row.is_live(self._now()) else None

    async def get_many(
        self, keys: Collection[Key], *, attributes: Collection[str] | None = None, may_be_stale: bool = False
    ) -> Mapping[Key, Item]:
        """See the port."""
        rows: dict[Key, Row] = {}
        for some in batches(keys, MAX_KEYS_PER_READ):
            start = self._calls.start()
            rows |= await read_rows(self._calls, some, start, attributes=attributes, may_be_stale=may_be_stale)
        now = self._now()
        return {key: row.item() for key, row in rows.items() if row.is_live(now)}

    async def query(
        self,
        pk: str,
        *,
        prefix: str = "",
        between: tuple[str, str] | None = None,
        descending: bool = False,
        limit: int | None,
        cursor: str | None = None,
        attributes: Collection[str] | None = None,
        may_be_stale: bool = False,
    ) -> Page:
        """See the port."""
        keys = SortKeys(prefix, between)
        check_query(limit, keys)
        check_cursor(pk, cursor)
        query = self._request(query_parts(pk, keys, attributes))
        query |= {"ScanIndexForward": not descending, "ConsistentRead": not may_be_stale}
        if cursor is not None and cursor in keys:
            query["ExclusiveStartKey"] = key_attributes(Key(pk, cursor))
        elif keys.is_empty() or (cursor is not None and keys.is_before(cursor) != descending):
            return Page(())
        return await read_page(self._calls, query, keys, limit, self._now())

    async def find(
        self, index_pk: str, *, prefix: str = "", descending: bool = False, limit: int, cursor: str | None = None
    ) -> KeyPage:
        """See the port."""
        check_query(limit, SortKeys(prefix))
        after = None if cursor is None else place_from(cursor)
        query = self._request(find_parts(index_pk, prefix, after), ScanIndexForward=not descending)
        return await read_keys(self._calls, query, prefix, limit)

    async def list_keys(self, *, limit: int, cursor: str | None = None) -> KeyPage:
        """See the port. A page costs one request, which reads at most 1 MB of the table."""
        check_query(limit, SortKeys())
        after = None if cursor is None else key_from(cursor)
        return await read_all_keys(self._calls, self._request(list_parts(after, limit)), self._now())

    async def scan(self, *, limit: int, cursor: str | None = None) -> Page:
        """See the port."""
        return await scan(self._calls, limit, cursor)

    async def quarantine(self, key: Key) -> None:
        """See the port."""
        await quarantine(self._calls, key, self._calls.start())

    async def put(self, write: Put, *, operation_id: str | None = None) -> int:
        """See the port."""
        check_operation_id(operation_id)
        write = checked_put(write)
        operation, deadline = operation_id or uuid.uuid4().hex, self._calls.start()
        if write.expected_version is not None:
            return await self._put_over(write, write.expected_version, operation, deadline)
        for attempt in itertools.count():
            row = await self._live_row(write.key, deadline)
            made = None if row is None else row.version_after(operation)
            if made is not None:
                return made
            try:
                return await self._put_over(write, 0 if row is None else row.version, operation, deadline)
            except ConflictError as error:
                await self._calls.pause(attempt, deadline, because=error)
        raise AssertionError("unreachable")

    async def update(self, write: Update, *, operation_id: str | None = None) -> Item:
        """See the port."""
        check_operation_id(operation_id)
        write = checked_update(write)
        operation, deadline = operation_id or uuid.uuid4().hex, self._calls.start()
        lost_reply = False
        for attempt in itertools.count():
            at_most = await self._highest_version(write, deadline, attempt)
            parts = update_parts(write, operation, self._now(), at_most=at_most)
            request = self._request(parts, ReturnValues="ALL_NEW")
            try:
                return row_from((await self._calls.send("update_item", request, deadline))["Attributes"]).item()
            except RefusedError as refused:
                lost_reply = lost_reply or refused.after_lost_reply
            item = await self._update_after_refusal(write, operation, deadline, lost_reply=lost_reply)
            if item is not None:
                return item
            await self._calls.pause(attempt, deadline)
        raise AssertionError("unreachable")

    async def delete(self, key: Key, *, expected_version: int | None = None) -> bool:
        """See the port. It reads first, so that a retry cannot delete an item that was written since."""
        deadline = self._calls.start()
        unsure: Row | None = None
        for attempt in itertools.count():
            row, now = await read_row(self._calls, key, deadline), self._now()
            if unsure is not None and (row is None or row.version <= unsure.version):
                return unsure.is_live(now)
            live = row is not None and row.is_live(now)
            if row is not None and expected_version is not None:
                row.check_readable()
            if expected_version not in (None, row.version if row is not None and live else 0):
                raise _conflict(key, expected_version, row if live else None)
            if row is None:
                return False
            if row.is_damaged:
                await self._calls.send("delete_item", self._request({"Key": key_attributes(key)}), deadline)
                return True
            try:
                await self._calls.send("delete_item", self._request(delete_row_parts(row)), deadline)
            except RefusedError as refused:
                unsure = row if refused.after_lost_reply else None
            else:
                return live
            await self._calls.pause(attempt, deadline)
        raise AssertionError("unreachable")

    async def write(self, writes: Sequence[Write], *, operation_id: str | None = None) -> None:
        """See the port. One id names one set of writes: if one of their rows has it, all of them happened."""
        check_operation_id(operation_id)
        writes = checked_writes(writes)
        operation, deadline = operation_id or uuid.uuid4().hex, self._calls.start()
        unconditional = [write.key for write in writes if isinstance(write, Put) and write.expected_version is None]
        rows = await self._bookkeeping(unconditional, deadline) if unconditional else {}
        for attempt in itertools.count():
            now = self._now()
            if is_repeat(rows, operation, now):
                return
            try:
                request = transaction(self._calls.address.name, writes, rows, operation, now)
                await self._calls.send("transact_write_items", request, deadline)
            except RefusedError as refused:
                rows = await self._after_refusal(writes, refused, operation, deadline)
            else:
                return
            await self._calls.pause(attempt, deadline)

    async def change_token(self) -> object | None:
        """See the port. DynamoDB has no such token."""
        return None

    async def delete_many(self, keys: Collection[Key]) -> None:
        """See the port."""
        for some in batches(keys, MAX_DELETES_PER_REQUEST):
            deadline = self._calls.start()
            left: Any = {self._calls.address.name: [{"DeleteRequest": {"Key": key_attributes(key)}} for key in some]}
            for attempt in itertools.count():
                answer = await self._calls.send("batch_write_item", {"RequestItems": left}, deadline)
                left = answer.get("UnprocessedItems")
                if not left:
                    break
                await self._calls.pause(attempt, deadline)

    async def scrub(self, texts: Collection[str] = ()) -> bool:  # noqa: ARG002
        """Do nothing: DynamoDB has no such request. Point-in-time backups keep deleted items for up to 35 days."""
        return True

    async def close(self) -> None:
        """See the port."""
        await self._calls.close()

    async def _highest_version(self, write: Update, deadline: Deadline, attempt: int) -> int | None:  # noqa: ARG002
        """Return the highest version on which a late update may still be applied; None for any."""
        return None

    def _request(self, parts: Mapping[str, Any], **more: Any) -> dict[str, Any]:
        return {"TableName": self._calls.address.name, **parts, **more}

    async def _live_row(self, key: Key, deadline: Deadline) -> Row | None:
        row = await read_row(self._calls, key, deadline)
        return row if row is not None and row.is_live(self._now()) else None

    async def _bookkeeping(self, keys: Collection[Key], deadline: Deadline) -> dict[Key, Row]:
        return await read_rows(self._calls, keys, deadline, attributes=())

    async def _after_refusal(
        self, writes: Sequence[Write], refused: RefusedError, operation: str, deadline: Deadline
    ) -> dict[Key, Row]:
        rows, now = await self._bookkeeping([write.key for write in writes], deadline), self._now()
        replaced = [write.key for write in writes if _may_replace(write) and _is_damaged(rows.get(write.key))]
        for key in replaced:
            await quarantine(self._calls, key, deadline)
        if replaced:
            return {key: row for key, row in rows.items() if key not in replaced}
        lost = conflicting(writes, refused.reasons, rows, now)
        if lost is not None and not is_repeat(rows, operation, now):
            row = rows.get(lost.key)
            live = row if row is not None and row.is_live(now) else None
            raise _conflict(lost.key, lost.expected_version, live) from refused
        return rows

    async def _put_over(self, write: Put, expected_version: int, operation: str, deadline: Deadline) -> int:
        request = self._request(put_parts(write, expected_version, operation, self._now()))
        try:
            await self._calls.send("put_item", request, deadline)
        except RefusedError as refused:
            row = await self._live_row(write.key, deadline)
            made = None if row is None else row.version_after(operation)
            if row is not None and row.is_damaged and expected_version == 0:
                await quarantine(self._calls, write.key, deadline)
                return await self._put_over(write, 0, operation, deadline)
            if made is None:
                raise _conflict(write.key, expected_version, row, lost_reply=refused.after_lost_reply) from refused
            return made
        return expected_version + 1

    async def _update_after_refusal(
        self, write: Update, operation: str, deadline: Deadline, *, lost_reply: bool
    ) -> Item | None:
        row, now = await read_row(self._calls, write.key, deadline), self._now()
        live = row if row is not None and row.is_live(now) else None
        if live is not None and live.version_after(operation) is not None:
            return live.item()
        if write.expected_version not in (None, 0 if live is None else live.version):
            raise _conflict(write.key, write.expected_version, live, lost_reply=lost_reply)
        return None if row is None or live is not None else await self._start_anew(write, operation, deadline)

    async def _start_anew(self, write: Update, operation: str, deadline: Deadline) -> Item | None:
        request = self._request(fresh_parts(write, operation, self._now()))
        try:
            await self._calls.send("put_item", request, deadline)
        except RefusedError:
            return None
        return row_from(request["Item"]).item()


def _may_replace(write: Write) -> bool:
    return isinstance(write, Put) or (isinstance(write, Update) and write.may_start_anew)


def _is_damaged(row: Row | None) -> bool:
    return row is not None and row.is_damaged


def batches(keys: Collection[Key], size: int) -> list[list[Key]]:
    """Return the keys without repetitions, in lists of at most this size."""
    different = list(dict.fromkeys(keys))
    return [different[first : first + size] for first in range(0, len(different), size)]


def _conflict(key: Key, expected: int | None, live: Row | None, *, lost_reply: bool = False) -> MemoryServerError:
    kind = _KIND.match(key.sk)
    which = f"the {kind[1]} item" if kind else "an item"
    if lost_reply and (live is None or live.version > (expected or 0) + 1):
        return TableUnavailableError(f"a reply was lost and {which} has changed since: the write may have happened")
    return ConflictError(f"expected version {expected} of {which}, found {'nothing' if live is None else live.version}")
