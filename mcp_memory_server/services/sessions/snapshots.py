"""Snapshots: whole values that a framework keeps for a user, under names of its own."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError, NotFoundError, TableDamagedError, TooLargeError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import snapshot_records as records
from mcp_memory_server.schema.keys import encoded, snapshots_partition
from mcp_memory_server.services.kernel.retries import retry_on_conflict

MAX_SNAPSHOT_BYTES = 32 * 1024 * 1024
MAX_NAME_BYTES = 900
"""In its encoded form, which has to fit into a sort key beside the number of a part."""
WRITTEN_AT_ONCE = 8
READ_ATTEMPTS = 5


class Snapshots:
    """Bytes under a name, of any size up to 32 MB. They live for 90 days after they were written last, or for ever."""

    def __init__(self, table: ItemTable, now: Callable[[], datetime]) -> None:
        self._table = table
        self._now = now

    async def write(self, scope: Scope, name: str, data: bytes, *, life: timedelta | None = records.LIFE) -> None:
        """Keep the value, in place of an earlier one. A reader sees all of either, never a mixture.

        Without a ``life`` it is kept until it is deleted.

        Raises:
            TooLargeError: It is over 32 MB. Nothing was written.
        """
        _check_name(name)
        if len(data) > MAX_SNAPSHOT_BYTES:
            raise TooLargeError(f"a snapshot must be at most {MAX_SNAPSHOT_BYTES:,} bytes long, got {len(data):,}")
        expires_at = None if life is None else (self._now() + life).replace(microsecond=0)
        written = records.written(scope, name, data, writing=uuid4().hex, expires_at=expires_at)
        await self._put_parts(written.parts)
        await retry_on_conflict(lambda: self._swap(written.head))

    async def read(self, scope: Scope, name: str) -> bytes:
        """Return the value.

        Raises:
            NotFoundError: There is none of this name.
            TableDamagedError: Some of it is missing.
        """
        _check_name(name)
        for _ in range(READ_ATTEMPTS):
            head = await self._table.get(records.snapshot_key(scope, name))
            if head is None:
                raise NotFoundError("there is no snapshot of this name")
            if (prefix := records.parts_prefix(head)) is None:
                return records.data_from(head, ())
            parts = (await self._table.query(head.key.pk, prefix=prefix, limit=None)).items
            if records.is_whole(head, parts):
                return records.data_from(head, parts)
            # Someone wrote it anew between the two reads, and took the old parts away.
        raise TableDamagedError("a part of a snapshot is missing")

    async def names(self, scope: Scope, prefix: str = "") -> list[str]:
        """Return the names that begin with this, in order."""
        pk, start = snapshots_partition(scope.user_id), records.NAMES + encoded(prefix)
        page = await self._table.query(pk, prefix=start, limit=None, attributes=())
        return sorted(records.name_of(item.key) for item in page.items)

    async def delete(self, scope: Scope, name: str) -> bool:
        """Remove the value and return whether there was one."""
        _check_name(name)
        head = await self._table.get(records.snapshot_key(scope, name))
        if head is None:
            return False
        was_there = await self._table.delete(head.key)
        await self._table.delete_many(records.parts_keys(head))
        return was_there

    async def _put_parts(self, parts: Sequence[Put]) -> None:
        for first in range(0, len(parts), WRITTEN_AT_ONCE):
            some = parts[first : first + WRITTEN_AT_ONCE]
            await asyncio.gather(*(self._table.put(part, operation_id=uuid4().hex) for part in some))

    async def _swap(self, head: Put) -> None:
        old = await self._table.get(head.key)
        put = replace(head, expected_version=0 if old is None else old.version)
        await self._table.put(put, operation_id=uuid4().hex)
        await self._table.delete_many(records.parts_keys(old))


def _check_name(name: str) -> None:
    if not 0 < len(encoded(name).encode(errors="replace")) <= MAX_NAME_BYTES:
        raise InvalidRequestError(f"the name of a snapshot must be 1 to {MAX_NAME_BYTES} bytes long in its stored form")
