"""The item table in one SQLite file."""

import asyncio
import json
import sqlite3
import threading
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Self, TypeVar

from mcp_memory_server.adapters.sqlite.damage.checking import Hidden, check_file
from mcp_memory_server.adapters.sqlite.damage.damaged_rows import quarantine, read_rows
from mcp_memory_server.adapters.sqlite.files.file import connect, prepare_file, primary_code
from mcp_memory_server.adapters.sqlite.files.opened_file import LogLostError, OpenedFile, error_from
from mcp_memory_server.adapters.sqlite.rows import COLUMNS, Stored
from mcp_memory_server.adapters.sqlite.scrubbing import scrub_file
from mcp_memory_server.adapters.sqlite.statements import (
    apply_all,
    delete_expired,
    delete_long_expired,
    find,
    select,
    select_index,
    select_keys,
)
from mcp_memory_server.adapters.sqlite.writer import SWEEP_SECONDS, Writer
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.domain.kernel.index_cursors import IndexPlace, key_cursor, key_from, place_from
from mcp_memory_server.domain.kernel.item_checks import check_cursor, check_operation_id, checked_writes
from mcp_memory_server.domain.kernel.items import Delete, Item, Key, KeyPage, Page, Put, Update, Write
from mcp_memory_server.errors import InvalidRequestError, TableDamagedError, TableFullError, TableUnavailableError

R = TypeVar("R")

READERS = 4
SCRUB_AGAIN_SECONDS = 15.0
"""How long after a scrub that a reader prevented it is tried again, until it succeeds."""
CHECKED_AT_ONCE = 8 * 1024 * 1024
"""In bytes. Checking a file of 5 MB takes about 30 ms."""
FEW = 16
"""Up to so many items are read where they are asked for. One takes a hundredth of a millisecond, and handing it to a
thread and back ten times as long."""


class SqliteItemTable:
    """Answers the item table's port on one file. Reads run beside each other and beside the one writer."""

    def __init__(self, path: Path, *, now: Callable[[], datetime] = utc_now) -> None:
        """Open the file. This touches the disk: use `open` where an event loop runs."""
        prepare_file(path)
        self._path = path
        self._now = now
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="memory-reader")
        self._here = connect(path)
        try:
            self._file = OpenedFile(path, self._here)
        except sqlite3.Error as error:
            self._here.close()
            raise self._ours(error) from error
        self._here.execute("PRAGMA busy_timeout = 0")
        self._is_read_here = threading.Lock()
        self._unscrubbed: set[str] | None = None
        self._writer = Writer(connect(path), self._sweep, self._file, self._pause)
        self._closed = False
        self._problem: TableDamagedError | None = None
        self._hidden: Hidden = {}
        self._check(is_small=path.stat().st_size <= CHECKED_AT_ONCE)

    @classmethod
    async def open(cls, path: Path, *, now: Callable[[], datetime] = utc_now) -> Self:
        """Open the file, and make it if it is not there.

        Raises:
            ConfigurationError: The file cannot be made or opened there.
            TableDamagedError: The file is damaged or not ours. It was left untouched.
        """
        return await asyncio.to_thread(cls, path, now=now)

    async def get(self, key: Key, *, may_be_stale: bool = False) -> Item | None:
        """See the port. Reads here are never stale."""
        return (await self.get_many((key,), may_be_stale=may_be_stale)).get(key)

    async def get_many(
        self,
        keys: Collection[Key],
        *,
        attributes: Collection[str] | None = None,
        may_be_stale: bool = False,  # noqa: ARG002
    ) -> Mapping[Key, Item]:
        """See the port."""
        now = self._now()

        def read(connection: sqlite3.Connection) -> dict[Key, Item]:
            found = (find(connection, key, now, attributes) for key in keys)
            return {row.key: row.to_item() for row in found if row is not None}

        if len(keys) <= FEW and (found := self._read_here(read)) is not None:
            return found
        return await self._read(read)

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
        may_be_stale: bool = False,  # noqa: ARG002
    ) -> Page:
        """See the port."""
        if limit is not None and limit < 1:
            raise InvalidRequestError(f"limit must be at least 1, got {limit}")
        if prefix and between:
            raise InvalidRequestError("give either a prefix or a range, not both")
        check_cursor(pk, cursor)
        statement, parameters = select(pk, prefix, between, cursor, self._now(), descending=descending)
        more = None if limit is None else limit + 1  # one row more shows whether a cursor is needed

        def read(connection: sqlite3.Connection) -> list[Item]:
            limited = (*parameters, -1 if more is None else more)
            return [row.to_item() for row in read_rows(connection, f"{statement} LIMIT ?", limited, attributes)]

        hidden = [key for key in self._hidden.get(pk, ()) if _is_asked_for(key.sk, prefix, between)]

        is_short = limit is not None and limit <= FEW
        items = self._read_here(read) if is_short else None
        if items is None:
            items = await self._read(read)
        if limit is None or len(items) <= limit:
            return Page((*items, *(Stored.damaged(key).to_item() for key in hidden)))
        return Page(tuple(items[:limit]), cursor=items[limit - 1].key.sk)

    async def find(
        self, index_pk: str, *, prefix: str = "", descending: bool = False, limit: int, cursor: str | None = None
    ) -> KeyPage:
        """See the port. Here the index is never behind."""
        if limit < 1:
            raise InvalidRequestError(f"limit must be at least 1, got {limit}")
        after = None if cursor is None else place_from(cursor)
        statement, parameters = select_index(index_pk, prefix, after, descending=descending)

        def read(connection: sqlite3.Connection) -> list[IndexPlace]:
            found = connection.execute(f"{statement} LIMIT ?", (*parameters, limit + 1))
            return [IndexPlace(index_sk, Key(pk, sk)) for index_sk, pk, sk in found]

        places = await self._read(read)
        keys = tuple(place.key for place in places[:limit])
        return KeyPage(keys, places[limit - 1].to_cursor() if len(places) > limit else None)

    async def list_keys(self, *, limit: int, cursor: str | None = None) -> KeyPage:
        """See the port. Here they are in order, and a page is full unless it is the last one."""
        if limit < 1:
            raise InvalidRequestError(f"limit must be at least 1, got {limit}")
        statement, parameters = select_keys(None if cursor is None else key_from(cursor), self._now())

        def read(connection: sqlite3.Connection) -> list[Key]:
            return [Key(pk, sk) for pk, sk in connection.execute(f"{statement} LIMIT ?", (*parameters, limit + 1))]

        keys = await self._read(read)
        return KeyPage(tuple(keys[:limit]), key_cursor(keys[limit - 1]) if len(keys) > limit else None)

    async def scan(self, *, limit: int, cursor: str | None = None) -> Page:
        """See the port. In the order of the keys."""
        after = json.loads(cursor) if cursor else ["", ""]
        statement = f"SELECT {COLUMNS} FROM items WHERE (pk, sk) > (?, ?) ORDER BY pk, sk LIMIT ?"

        def read(connection: sqlite3.Connection) -> Page:
            rows = read_rows(connection, statement, (*after, limit + 1))
            items = tuple(row.to_item() for row in rows[:limit])
            last = items[-1].key if len(rows) > limit else None
            return Page(items, None if last is None else json.dumps([last.pk, last.sk]))

        return await self._read(read)

    async def quarantine(self, key: Key) -> None:
        """See the port."""
        now = self._now()

        def move(connection: sqlite3.Connection) -> None:
            row = find(connection, key, now)
            if row is not None and row.is_damaged:
                quarantine(connection, key, now)

        await self._write(move)

    async def put(self, write: Put, *, operation_id: str | None = None) -> int:
        """See the port."""
        return (await self._apply((write,), operation_id))[0].version

    async def update(self, write: Update, *, operation_id: str | None = None) -> Item:
        """See the port."""
        return (await self._apply((write,), operation_id))[0].to_item()

    async def delete(self, key: Key, *, expected_version: int | None = None) -> bool:
        """See the port."""
        return bool((await self._apply((Delete(key, expected_version),), None))[0].version)

    async def write(self, writes: Sequence[Write], *, operation_id: str | None = None) -> None:
        """See the port."""
        await self._apply(writes, operation_id)

    async def change_token(self) -> object | None:
        """See the port. The token also changes when this process writes, because it writes on another connection."""
        return self._read_here(lambda connection: connection.execute("PRAGMA data_version").fetchone()[0])

    async def delete_many(self, keys: Collection[Key]) -> None:
        """See the port. Here they go all at once."""
        now = self._now()

        def remove(connection: sqlite3.Connection) -> None:
            apply_all(connection, [Delete(key) for key in keys], "", now)

        await self._write(remove)

    async def scrub(self, texts: Collection[str] = ()) -> bool:
        """See the port. What a reader prevents is repeated in the background for as long as the table is open.

        What expired is hidden from whoever wants to delete it, so it goes here.
        """
        now = self._now()
        await self._write(lambda connection: delete_expired(connection, now))
        is_done = await self._read(lambda connection: scrub_file(self._path, connection, texts))
        if not is_done:
            self._unscrubbed = {*(self._unscrubbed or ()), *texts}
            await self._write(lambda _: None)  # wakes the writer, which looks how long it may wait
        return is_done

    def _sweep(self, connection: sqlite3.Connection) -> None:
        """Remove what expired, and what an earlier scrub could not."""
        delete_long_expired(connection, self._now())
        if (texts := self._unscrubbed) is not None and scrub_file(self._path, connection, texts):
            self._unscrubbed = None

    def _pause(self) -> float:
        return SWEEP_SECONDS if self._unscrubbed is None else SCRUB_AGAIN_SECONDS

    async def count(self) -> int:
        """Return how many items there are, those included that cannot be read."""
        return await self._read(lambda connection: connection.execute("SELECT count(*) FROM items").fetchone()[0])

    async def close(self) -> None:
        """See the port."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    def _check(self, *, is_small: bool) -> None:
        """Check the whole file: a small one before anything is answered, a large one meanwhile."""

        def check() -> None:
            try:
                with closing(connect(self._path)) as connection:
                    self._hidden = check_file(connection, self._path, self._now())
            except TableDamagedError as error:
                self._problem = error
            except sqlite3.Error as error:
                if primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
                    self._problem = self._damaged_file()

        if not is_small:
            self._readers.submit(check)
            return
        check()
        if self._problem is not None:
            self._closed = True
            self._close()
            raise self._problem

    def _damaged_file(self) -> TableDamagedError:
        return TableDamagedError(
            f"{str(self._path)!r} is damaged; `mcp-memory-server repair` shows what can be saved, and saves it"
        )

    def _close(self) -> None:
        self._readers.shutdown()
        with self._is_read_here:
            self._here.close()
        for connection in self._connections:
            connection.close()
        self._writer.close()

    def _reader(self) -> sqlite3.Connection:
        # Opened when first needed, not when the thread starts: a failure there would end all reading for good.
        if not hasattr(self._local, "connection"):
            self._local.connection = connect(self._path)
            self._connections.append(self._local.connection)
        return self._local.connection

    async def _apply(self, writes: Sequence[Write], operation_id: str | None) -> list[Stored]:
        check_operation_id(operation_id)
        checked = checked_writes(writes)
        operation, now = operation_id or uuid.uuid4().hex, self._now()
        return await self._write(lambda connection: apply_all(connection, checked, operation, now))

    async def _read(self, work: Callable[[sqlite3.Connection], R]) -> R:
        self._refuse_when_closed()

        def read() -> R:
            self._check_in_place()
            return work(self._reader())

        try:
            return await asyncio.wrap_future(self._readers.submit(read))
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._ours(error) from error

    def _read_here(self, work: Callable[[sqlite3.Connection], R]) -> R | None:
        """Return what is read without leaving this thread, None if somebody would have to wait for that."""
        self._refuse_when_closed()
        if not self._is_read_here.acquire(blocking=False):
            return None
        try:
            self._check_in_place()
            return work(self._here)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                return None
            raise self._ours(error) from error
        finally:
            self._is_read_here.release()

    async def _write(self, work: Callable[[sqlite3.Connection], R]) -> R:
        self._refuse_when_closed()
        try:
            return await asyncio.wrap_future(self._writer.submit(work))
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._ours(error) from error

    def _check_in_place(self) -> None:
        try:
            self._file.check_in_place()
        except LogLostError:
            self._writer.submit(lambda _: None)  # which finds it too, and saves what the log holds
            raise

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise TableUnavailableError("the memory was closed; open it again")
        if self._problem is not None:
            raise self._problem

    def _ours(self, error: Exception) -> TableUnavailableError | TableFullError | TableDamagedError:
        return error_from(error, self._path, self._damaged_file())


def _is_asked_for(sk: str, prefix: str, between: tuple[str, str] | None) -> bool:
    return sk.startswith(prefix) if between is None else between[0] <= sk <= between[1]
