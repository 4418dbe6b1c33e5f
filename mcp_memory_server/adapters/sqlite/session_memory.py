"""The session memory in one SQLite file beside the table."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self, TypeVar

from mcp_memory_server.adapters.sqlite import session_copies as copies
from mcp_memory_server.adapters.sqlite import session_rows as rows
from mcp_memory_server.adapters.sqlite import session_states as states
from mcp_memory_server.adapters.sqlite.making import identity_of
from mcp_memory_server.adapters.sqlite.session_file import connect_to_sessions, prepare_session_file, this_boot
from mcp_memory_server.adapters.sqlite.writer import Writer
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.domain.kernel.scope import Scope, user_and_session
from mcp_memory_server.domain.sessions.cached_session import (
    Appended,
    CacheContext,
    CachedSession,
    CacheMiss,
    SharedState,
    check_after,
    state_text,
)
from mcp_memory_server.domain.sessions.limits import SETTLING
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.errors import (
    CacheUnavailableError,
    ConfigurationError,
    InvalidRequestError,
    TableUnavailableError,
)

R = TypeVar("R")

DEADLINE = timedelta(seconds=2)
LOOK_AGAIN_SECONDS = 0.1
"""Nothing tells a process that another one wrote: a watched state is looked up so often."""


@dataclass(frozen=True)
class _Opened:
    file: tuple[int, int] | None
    reading: sqlite3.Connection
    writer: Writer


class SqliteSessionMemory:
    """Answers the session memory's port on one file. One thread reads, another one writes."""

    def __init__(
        self,
        path: Path,
        *,
        now: Callable[[], datetime] = utc_now,
        deadline: timedelta = DEADLINE,
        settling: timedelta = SETTLING,
    ) -> None:
        """Remember the place. Nothing is opened, and no file is made, before something is asked."""
        self._path = path
        self._now = now
        self._deadline = deadline
        self._settling = settling
        self._boot = this_boot() or "any"
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="session-reader")
        self._opened: _Opened | None = None
        self._closed = False

    @classmethod
    async def open(
        cls,
        path: Path,
        *,
        now: Callable[[], datetime] = utc_now,
        deadline: timedelta = DEADLINE,
        settling: timedelta = SETTLING,
    ) -> Self:
        """Open the file at once, and make it if it is not there or is damaged.

        Raises:
            ConfigurationError: The file cannot be made or opened there, or is not ours.
        """
        memory = cls(path, now=now, deadline=deadline, settling=settling)
        await asyncio.wrap_future(memory._reader.submit(memory._open))
        return memory

    @property
    def cache(self) -> Self:
        """This object, as the session cache."""
        return self

    @property
    def states(self) -> Self:
        """This object, as the store of shared states."""
        return self

    @property
    def deadlines(self) -> Self:
        """This object, as the deadlines."""
        return self

    async def append(
        self, write: TurnWrite, context: CacheContext, *, after: str | None = None, enqueue: bool = False
    ) -> Appended | None:
        """See the port. There is no outbox here.

        Raises:
            InvalidRequestError: The turn is to be queued.
        """
        if enqueue:
            raise InvalidRequestError("this session memory has no outbox: the outbox in SQLite is a file of its own")
        check_after(after)
        owner, seen, rules = user_and_session(write.scope), self._seen(context.epoch), _rules(context)
        return await self._write(
            lambda connection: copies.append(
                connection, owner, write.turn, operation=write.operation_id, after=after, rules=rules, seen=seen
            )
        )

    async def load(self, scope: Scope, *, epoch: int) -> CachedSession | CacheMiss:
        """See the port. A session that cannot be read is discarded."""
        owner, seen = user_and_session(scope), self._seen(epoch)
        found = await self._read(lambda connection: copies.load(connection, owner, seen))
        if found is not None:
            return found
        return await self._write(lambda connection: copies.load_or_begin(connection, owner, seen))

    async def fill(self, scope: Scope, session: CachedSession, context: CacheContext, *, token: str) -> bool:
        """See the port."""
        owner, seen, rules = user_and_session(scope), self._seen(context.epoch), _rules(context)
        return await self._write(
            lambda connection: copies.fill(connection, owner, session, token=token, rules=rules, seen=seen)
        )

    async def record_stored(self, write: TurnWrite, context: CacheContext) -> None:
        """See the port."""
        owner, seen, rules = user_and_session(write.scope), self._seen(context.epoch), _rules(context)
        await self._write(
            lambda connection: copies.note(
                connection, owner, write.turn, operation=write.operation_id, rules=rules, seen=seen
            )
        )

    async def ping(self) -> None:
        """See the port."""
        await self._read(lambda connection: connection.execute("SELECT 1").fetchone())

    async def drop(self, scope: Scope) -> None:
        """See the port. Pages are zeroed when a row is deleted; the log, which still has the old ones, is emptied."""
        owner = user_and_session(scope)
        await self._write(lambda connection: rows.drop(connection, owner))
        await self._answer(lambda: self._reader.submit(self._empty_the_log))

    async def read(self, scope: Scope) -> SharedState:
        """See the port."""
        owner, now = user_and_session(scope), self._now()
        return await self._read(lambda connection: states.read_state(connection, owner, now))

    async def write(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """See the port."""
        owner, text, now = user_and_session(scope), state_text(value), self._now()
        return await self._write(lambda connection: states.write_state(connection, owner, text, expected_version, now))

    def watch(self, scope: Scope) -> AsyncIterator[int]:
        """See the port. A version that is there at the start is told at once."""
        return self._versions(user_and_session(scope))

    async def due(self, now: datetime, *, limit: int) -> Sequence[Scope]:
        """See the port."""
        owners = await self._read(lambda connection: rows.due(connection, now, limit))
        return [Scope(user, session) for user, session in owners]

    async def settle(self, scope: Scope, now: datetime) -> None:
        """See the port."""
        owner = user_and_session(scope)
        await self._write(lambda connection: rows.settle_deadline(connection, owner, now))

    async def set_summary(self, scope: Scope, summary: str) -> None:
        """See the port."""
        owner, text, now = user_and_session(scope), state_text(summary), self._now()
        await self._write(lambda connection: rows.sum_up(connection, owner, text, now))

    async def close(self) -> None:
        """See the port."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._reader.shutdown()
        if self._opened is not None:
            self._opened.reading.close()
            self._opened.writer.close()

    async def _versions(self, owner: rows.Owner) -> AsyncGenerator[int]:
        seen = (0, b"")
        while True:
            now = self._now()
            found = await self._read(lambda connection, now=now: states.state_mark(connection, owner, now))
            if found != seen:
                seen = found
                yield found[0]
            await asyncio.sleep(LOOK_AGAIN_SECONDS)

    def _seen(self, epoch: int) -> copies.Standpoint:
        return copies.Standpoint(self._boot, epoch, self._now(), self._settling)

    def _open(self) -> "_Opened":
        # Called in the one reader thread only, so nobody else opens it meanwhile.
        if self._opened is None:
            prepare_session_file(self._path)
            writer = Writer(
                connect_to_sessions(self._path, self._deadline),
                lambda connection: rows.delete_expired(connection, self._now()),
                self._check_in_place,
            )
            reading = connect_to_sessions(self._path, self._deadline)
            self._opened = _Opened(identity_of(self._path), reading, writer)
        return self._opened

    def _empty_the_log(self) -> None:
        self._open().reading.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _check_in_place(self) -> None:
        # SQLite would go on in a file that others do not see: they and this one would have different copies.
        if self._opened is not None and identity_of(self._path) != self._opened.file:
            raise TableUnavailableError(f"{str(self._path)!r} was moved, deleted or replaced; restart the server")

    async def _read(self, work: Callable[[sqlite3.Connection], R]) -> R:
        def read() -> R:
            reading = self._open().reading
            self._check_in_place()
            with reading:
                reading.execute("BEGIN")  # all of it from one moment
                return work(reading)

        return await self._answer(lambda: self._reader.submit(read))

    async def _write(self, work: Callable[[sqlite3.Connection], R]) -> R:
        opened = self._opened or await self._answer(lambda: self._reader.submit(self._open))
        return await self._answer(lambda: opened.writer.submit(work))

    async def _answer(self, submit: Callable[[], Future[R]]) -> R:
        if self._closed:
            raise CacheUnavailableError("the session memory was closed; open it again")
        try:
            async with asyncio.timeout(self._deadline.total_seconds()):
                return await asyncio.wrap_future(submit())
        except TimeoutError as error:
            raise CacheUnavailableError(f"{str(self._path)!r} was busy for {self._deadline}") from error
        except (sqlite3.Error, ValueError, TableUnavailableError, ConfigurationError) as error:
            raise CacheUnavailableError(f"SQLite could not use {str(self._path)!r}: {error}") from error


def _rules(context: CacheContext) -> copies.Rules:
    return copies.Rules(context.tier, context.limits, context.now)
