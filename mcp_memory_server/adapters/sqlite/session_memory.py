"""The session memory in one SQLite file beside the table."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

from mcp_memory_server.adapters.sqlite import session_rows as rows
from mcp_memory_server.adapters.sqlite.session_file import connect_to_sessions, prepare_session_file, this_boot
from mcp_memory_server.adapters.sqlite.writer import Writer
from mcp_memory_server.domain.items import check_operation_id
from mcp_memory_server.domain.kept_sessions import owner_of, state_text
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.session_copies import Appended, SessionCopy, SharedState
from mcp_memory_server.domain.sessions import Limits, Tier, lifetime
from mcp_memory_server.domain.turns import Turn
from mcp_memory_server.errors import CacheUnavailableError, TableUnavailableError

R = TypeVar("R")

DEADLINE = timedelta(seconds=2)
LOOK_AGAIN_SECONDS = 0.1
"""Nothing tells a process that another one wrote: a watched state is looked up so often."""


def _utc_now() -> datetime:
    return datetime.now(UTC)


class SqliteSessionMemory:
    """Answers the session memory's port on one file. One thread reads, another one writes."""

    def __init__(self, path: Path, *, now: Callable[[], datetime] = _utc_now, deadline: timedelta = DEADLINE) -> None:
        """Open the file. This touches the disk: use `open` where an event loop runs."""
        prepare_session_file(path)
        self._path = path
        self._now = now
        self._deadline = deadline
        self._boot = this_boot() or "any"
        self._file = _identity(path)
        self._reading = connect_to_sessions(path, deadline)
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="session-reader")
        self._writer = Writer(
            connect_to_sessions(path, deadline),
            lambda connection: rows.delete_expired(connection, now()),
            self._check_in_place,
        )
        self._closed = False

    @classmethod
    async def open(cls, path: Path, *, now: Callable[[], datetime] = _utc_now, deadline: timedelta = DEADLINE) -> Self:
        """Open the file, and make it if it is not there or is damaged.

        Raises:
            ConfigurationError: The file cannot be made or opened there, or is not ours.
        """
        return await asyncio.to_thread(cls, path, now=now, deadline=deadline)

    async def append(
        self, scope: Scope, turn: Turn, *, operation_id: str, tier: Tier, limits: Limits, now: datetime
    ) -> Appended:
        """See the port."""
        check_operation_id(operation_id)
        owner, read_at = owner_of(scope), self._now()
        new = rows.Addition(turn, operation_id, tier, limits, now)
        return await self._write(lambda connection: rows.append(connection, owner, new, read_at))

    async def load(self, scope: Scope) -> SessionCopy | None:
        """See the port. A copy that cannot be read is none."""
        owner, now = owner_of(scope), self._now()
        return await self._read(lambda connection: rows.load(connection, owner, self._boot, now))

    async def fill(self, scope: Scope, turns: Sequence[Turn], *, count: int, tier: Tier, now: datetime) -> bool:
        """See the port."""
        owner, read_at, life = owner_of(scope), self._now(), lifetime(tier, count)
        last = turns[-1].id if turns else None

        def fill(connection: sqlite3.Connection) -> bool:
            copy = rows.Copy(self._boot, count, last, rows.appended_so_far(connection, owner, read_at))
            return rows.fill(connection, owner, turns, copy, life, now)

        return await self._write(fill)

    async def drop(self, scope: Scope) -> None:
        """See the port."""
        owner = owner_of(scope)
        await self._write(lambda connection: rows.drop(connection, owner))

    async def read_state(self, scope: Scope) -> SharedState:
        """See the port."""
        owner, now = owner_of(scope), self._now()
        return await self._read(lambda connection: rows.read_state(connection, owner, now))

    async def write_state(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """See the port."""
        owner, text, now = owner_of(scope), state_text(value), self._now()
        return await self._write(lambda connection: rows.write_state(connection, owner, text, expected_version, now))

    def watch_state(self, scope: Scope) -> AsyncIterator[int]:
        """See the port. A version that is there at the start is told at once."""
        return self._versions(owner_of(scope))

    async def due(self, now: datetime, *, limit: int) -> Sequence[Scope]:
        """See the port."""
        owners = await self._read(lambda connection: rows.due(connection, now, limit))
        return [Scope(user, session) for user, session in owners]

    async def close(self) -> None:
        """See the port."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._reader.shutdown()
        self._reading.close()
        self._writer.close()

    async def _versions(self, owner: rows.Owner) -> AsyncGenerator[int]:
        seen = (0, b"")
        while True:
            now = self._now()
            found = await self._read(lambda connection, now=now: rows.state_mark(connection, owner, now))
            if found != seen:
                seen = found
                yield found[0]
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def _check_in_place(self) -> None:
        # SQLite would go on in a file that others do not see: they and this one would have different copies.
        if _identity(self._path) != self._file:
            raise TableUnavailableError(f"{str(self._path)!r} was moved, deleted or replaced; restart the server")

    async def _read(self, work: Callable[[sqlite3.Connection], R]) -> R:
        def read() -> R:
            self._check_in_place()
            with self._reading:
                self._reading.execute("BEGIN")  # all of it from one moment
                return work(self._reading)

        return await self._answer(lambda: self._reader.submit(read))

    async def _write(self, work: Callable[[sqlite3.Connection], R]) -> R:
        return await self._answer(lambda: self._writer.submit(work))

    async def _answer(self, submit: Callable[[], Future[R]]) -> R:
        if self._closed:
            raise CacheUnavailableError("the session memory was closed; open it again")
        try:
            async with asyncio.timeout(self._deadline.total_seconds()):
                return await asyncio.wrap_future(submit())
        except TimeoutError as error:
            raise CacheUnavailableError(f"{str(self._path)!r} was busy for {self._deadline}") from error
        except (sqlite3.Error, ValueError, TableUnavailableError) as error:
            raise CacheUnavailableError(f"SQLite could not use {str(self._path)!r}: {error}") from error


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
