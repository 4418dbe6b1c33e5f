"""The item table with an audit line for every write: who wrote what for whom, how much, and how it ended.

Lines name users and keys by hashes, as all logs do, and never hold a text.
"""

import json
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from typing import TypeVar

from mcp_memory_server.domain.kernel.item_checks import item_size
from mcp_memory_server.domain.kernel.items import Body, Delete, Item, Key, KeyPage, Page, Put, Update, Write
from mcp_memory_server.domain.kernel.log_labels import current_actor, hashed_name
from mcp_memory_server.errors import ConflictError, UnavailableError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.keys import user_of_partition

R = TypeVar("R")

_KINDS = {Put: "put", Update: "update", Delete: "delete"}
_KEY_LETTERS = 12


class AuditedItemTable:
    """Answers the item table's port. Each line goes to ``write_line`` when its write is done, or failed."""

    def __init__(self, table: ItemTable, write_line: Callable[[str], None], now: Callable[[], datetime]) -> None:
        self._table = table
        self._write_line = write_line
        self._now = now

    async def get(self, key: Key, *, may_be_stale: bool = False) -> Item | None:
        """See the port."""
        return await self._table.get(key, may_be_stale=may_be_stale)

    async def get_many(
        self, keys: Collection[Key], *, attributes: Collection[str] | None = None, may_be_stale: bool = False
    ) -> Mapping[Key, Item]:
        """See the port."""
        return await self._table.get_many(keys, attributes=attributes, may_be_stale=may_be_stale)

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
        return await self._table.query(
            pk,
            prefix=prefix,
            between=between,
            descending=descending,
            limit=limit,
            cursor=cursor,
            attributes=attributes,
            may_be_stale=may_be_stale,
        )

    async def find(
        self, index_pk: str, *, prefix: str = "", descending: bool = False, limit: int, cursor: str | None = None
    ) -> KeyPage:
        """See the port."""
        return await self._table.find(index_pk, prefix=prefix, descending=descending, limit=limit, cursor=cursor)

    async def list_keys(self, *, limit: int, cursor: str | None = None) -> KeyPage:
        """See the port."""
        return await self._table.list_keys(limit=limit, cursor=cursor)

    async def scan(self, *, limit: int, cursor: str | None = None) -> Page:
        """See the port."""
        return await self._table.scan(limit=limit, cursor=cursor)

    async def quarantine(self, key: Key) -> None:
        """See the port."""
        await self._table.quarantine(key)

    async def put(self, write: Put, *, operation_id: str | None = None) -> int:
        """See the port."""
        return await self._audited((write,), operation_id, self._table.put(write, operation_id=operation_id))

    async def delete(self, key: Key, *, expected_version: int | None = None) -> bool:
        """See the port."""
        write = Delete(key, expected_version)
        return await self._audited((write,), None, self._table.delete(key, expected_version=expected_version))

    async def update(self, write: Update, *, operation_id: str | None = None) -> Item:
        """See the port."""
        return await self._audited((write,), operation_id, self._table.update(write, operation_id=operation_id))

    async def write(self, writes: Sequence[Write], *, operation_id: str | None = None) -> None:
        """See the port."""
        await self._audited(writes, operation_id, self._table.write(writes, operation_id=operation_id))

    async def change_token(self) -> object | None:
        """See the port."""
        return await self._table.change_token()

    async def delete_many(self, keys: Collection[Key]) -> None:
        """See the port."""
        await self._audited([Delete(key) for key in keys], None, self._table.delete_many(keys))

    async def scrub(self, texts: Collection[str] = ()) -> bool:
        """See the port."""
        return await self._table.scrub(texts)

    async def close(self) -> None:
        """See the port."""
        await self._table.close()

    async def _audited(self, writes: Sequence[Write], operation_id: str | None, made: Awaitable[R]) -> R:
        result = "ok"
        try:
            return await made
        except ConflictError:
            result = "conflict"
            raise
        except UnavailableError:
            result = "unknown"  # it may have happened
            raise
        except BaseException:
            result = "failed"
            raise
        finally:
            for write in writes:
                self._write_line(self._line(write, operation_id, result))

    def _line(self, write: Write, operation_id: str | None, result: str) -> str:
        user = user_of_partition(write.key.pk)
        named = f"{write.key.pk}\n{write.key.sk}".encode(errors="surrogatepass")
        return json.dumps(
            {
                "at": self._now().astimezone(UTC).isoformat(timespec="milliseconds"),
                "actor": current_actor(),
                "user": None if user is None else hashed_name(user),
                "write": _KINDS[type(write)],
                "key": sha256(named).hexdigest()[:_KEY_LETTERS],
                "bytes": 0 if isinstance(write, Delete) else _size(write.key, _body(write)),
                "operation": None if operation_id is None else hashed_name(operation_id),
                "result": result,
            }
        )


def _body(write: Put | Update) -> Body:
    return write.body if isinstance(write, Put) else {**write.set, **write.add, **write.push}


def _size(key: Key, body: Body) -> int | None:
    try:
        return item_size(key, body)
    except (UnicodeEncodeError, TypeError, AttributeError):
        return None  # refused by the table, which says why
