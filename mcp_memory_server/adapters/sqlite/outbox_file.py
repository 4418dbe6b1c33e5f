"""The outbox file: opened when it is first needed, and made when something is first written.

What it holds is nowhere else until the table has it. So every commit goes to the disk, and a damaged file is refused,
never replaced.
"""

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import TypeVar

from mcp_memory_server.adapters.sqlite.files.file import connect
from mcp_memory_server.adapters.sqlite.files.opened_file import OpenedFile, error_from
from mcp_memory_server.adapters.sqlite.outbox_schema import check_outbox_file, make_outbox_file, way_out
from mcp_memory_server.adapters.sqlite.scrubbing import empty_log
from mcp_memory_server.adapters.sqlite.writer import Writer
from mcp_memory_server.errors import TableFullError, TableUnavailableError

R = TypeVar("R")

DEADLINE = timedelta(seconds=5)

_READER_TIMEOUT = timedelta(seconds=1)
"""Readers wait for nobody but a process that is about to close the file, and when the log is to be emptied."""


@dataclass(frozen=True)
class _Opened:
    file: OpenedFile
    reading: sqlite3.Connection
    writer: Writer


class OutboxFile:
    """One file that the processes of a host share. One thread opens and reads, another one writes."""

    def __init__(self, path: Path, deadline: timedelta) -> None:
        """Remember the place. Nothing is opened, and no thread is started, before there is something to do."""
        self._path = path
        self._deadline = deadline
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="outbox-reader")
        self._opened: _Opened | None = None
        self._closed = False

    async def read(self, work: Callable[[sqlite3.Connection], R], *, otherwise: R) -> R:
        """Return what the work finds, all of it from one moment; ``otherwise`` where there is no file."""

        def read() -> R:
            opened = self._open()
            opened.file.check_in_place()
            with opened.reading:
                opened.reading.execute("BEGIN")
                return work(opened.reading)

        async def answer() -> R:
            return await asyncio.wrap_future(self._reader.submit(read)) if self._is_there() else otherwise

        return await self._in_time(answer())

    async def write(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Do the work and answer when it is on the disk. A missing file is made."""
        return await self._in_time(self._written(work))

    async def change(self, work: Callable[[sqlite3.Connection], R], *, otherwise: R) -> R:
        """Do the work as `write` does; where there is no file there is nothing to change, and none is made."""

        async def answer() -> R:
            return await self._written(work) if self._is_there() else otherwise

        return await self._in_time(answer())

    async def scrub(self) -> None:
        """Empty the log, which still has what was deleted. Pages of the file were zeroed when it was.

        Raises:
            TableUnavailableError: A reader prevents it.
        """

        def empty_the_log() -> bool:
            return empty_log(self._open().reading)

        async def answer() -> bool:
            return await asyncio.wrap_future(self._reader.submit(empty_the_log)) if self._is_there() else True

        if not await self._in_time(answer()):
            raise TableUnavailableError(
                f"the log of {str(self._path)!r} still has deleted turns, because another process reads it; try again"
            )

    async def close(self) -> None:
        """Finish what was begun and let go of the file. Closing twice is harmless."""
        if not self._closed:
            self._closed = True
            await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._reader.shutdown()
        if self._opened is not None:
            self._opened.reading.close()
            self._opened.writer.close()

    async def _written(self, work: Callable[[sqlite3.Connection], R]) -> R:
        self._refuse_when_closed()
        opened = self._opened or await asyncio.wrap_future(self._reader.submit(self._make_and_open))
        return await asyncio.wrap_future(opened.writer.submit(work))

    async def _in_time(self, answer: Awaitable[R]) -> R:
        try:
            async with asyncio.timeout(self._deadline.total_seconds()):
                return await answer
        except TimeoutError as error:
            raise TableUnavailableError(f"{str(self._path)!r} was busy for {self._deadline}") from error
        except (sqlite3.Error, OSError, UnicodeDecodeError) as error:
            raise self._ours(error) from error

    def _is_there(self) -> bool:
        self._refuse_when_closed()
        # Asked by every load of a session, mostly of a file that was never needed: a look is cheaper than a thread.
        return self._opened is not None or self._path.exists()

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise TableUnavailableError(f"{str(self._path)!r} was closed; open it again")

    def _make_and_open(self) -> _Opened:
        make_outbox_file(self._path)
        return self._open()

    def _open(self) -> _Opened:
        # Called in the one reader thread only, so nobody else opens it meanwhile.
        if self._opened is None:
            check_outbox_file(self._path)
            reading = _connect(self._path, min(self._deadline, _READER_TIMEOUT))
            file = OpenedFile(self._path, reading)
            writer = Writer(_connect(self._path, self._deadline), _nothing_expires, file)
            self._opened = _Opened(file, reading, writer)
        return self._opened

    def _ours(self, error: Exception) -> TableUnavailableError | TableFullError:
        if isinstance(error, OSError):
            return TableUnavailableError(f"cannot use {str(self._path)!r} for waiting turns: {error.strerror}")
        return error_from(
            error, self._path, TableUnavailableError(f"{str(self._path)!r} is damaged. {way_out(self._path)}")
        )


def _connect(path: Path, timeout: timedelta) -> sqlite3.Connection:
    connection = connect(path)
    connection.execute(f"PRAGMA busy_timeout = {timeout // timedelta(milliseconds=1)}")
    return connection


def _nothing_expires(connection: sqlite3.Connection) -> None:
    """What waits here waits until somebody takes it."""
