"""The standard streams of this process, awaited by its event loop.

The SDK hands each line that it reads, writes and flushes to a thread and waits for that: a quarter of a call that does
nothing. An event loop can wait for pipes itself. Where there are none (a terminal, a file, another system) or where
they are shared, so that one is not to be changed for the sake of the other, the SDK's way is taken.
"""

import asyncio
import os
import stat
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from typing import TYPE_CHECKING, Any, cast

from mcp.server.stdio import stdio_server

if TYPE_CHECKING:
    from anyio import AsyncFile

LONGEST_LINE = 64 * 1024 * 1024
"""Bytes. A longer line is read as a broken one."""

_STDIN, _STDOUT, _STDERR = 0, 1, 2


@asynccontextmanager
async def standard_streams() -> AsyncGenerator[tuple[Any, Any]]:
    """Open what a server of the SDK runs on. Meanwhile nobody else reads from the input, or writes to the output."""
    async with AsyncExitStack() as stack:
        if _can_be_awaited():
            lines = await stack.enter_async_context(_input())
            replies = _Replies(await stack.enter_async_context(_output()), lines)
            # Of files, the SDK asks for no more than these have.
            streams = stdio_server(cast("AsyncFile[str]", lines), cast("AsyncFile[str]", replies))
        else:
            streams = stdio_server()
        yield await stack.enter_async_context(streams)


def _can_be_awaited() -> bool:
    """Tell whether input and output are pipes of their own. Not waiting is a mark of what is open, whoever uses it."""
    if sys.platform == "win32":
        return False
    try:
        states = [os.fstat(stream) for stream in (_STDIN, _STDOUT, _STDERR)]
    except OSError:
        return False  # one of them is closed
    are_pipes = all(stat.S_ISFIFO(state.st_mode) or stat.S_ISSOCK(state.st_mode) for state in states[:_STDERR])
    return are_pipes and len({(state.st_dev, state.st_ino) for state in states}) == len(states)


@asynccontextmanager
async def _input() -> "AsyncGenerator[_Lines]":
    reader = asyncio.StreamReader(LONGEST_LINE)
    with os.fdopen(os.open(os.devnull, os.O_RDONLY)) as nothing, _diverted(_STDIN, nothing.fileno()) as wire:
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(wire, "rb", buffering=0)
        )
        with closing(transport):
            yield _Lines(reader, transport)


@asynccontextmanager
async def _output() -> AsyncGenerator[asyncio.StreamWriter]:
    loop = asyncio.get_running_loop()
    with _diverted(_STDOUT, _STDERR) as wire:
        transport, flow = await loop.connect_write_pipe(
            lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), os.fdopen(wire, "wb", buffering=0)
        )
        # What was written is with the client, and not in a buffer that ends with the process.
        transport.set_write_buffer_limits(0)
        with closing(transport):
            yield asyncio.StreamWriter(transport, flow, None, loop)


@contextmanager
def _diverted(stream: int, elsewhere: int) -> Generator[int]:
    """Point a standard stream elsewhere, and yield what it was: what is printed by mistake must not reach a client."""
    before = os.dup(stream)
    try:
        os.dup2(elsewhere, stream)
        yield os.dup(before)  # whoever reads or writes this one closes it
    finally:
        os.set_blocking(before, True)
        os.dup2(before, stream)
        os.close(before)


class _Lines:
    """What the client sends, line by line."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.ReadTransport) -> None:
        self._reader = reader
        self._transport = transport

    def end(self) -> None:
        """Let no line follow."""
        self._transport.close()

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> str:
        try:
            line = await self._reader.readline()
        except ValueError:  # it is too long; nobody can make anything of its beginning
            return "\n"
        if not line:
            raise StopAsyncIteration
        return line.decode(errors="replace")


class _Replies:
    """What the client gets. One who does not listen any more has left, and asks nothing more either."""

    def __init__(self, writer: asyncio.StreamWriter, lines: _Lines) -> None:
        self._writer = writer
        self._lines = lines

    async def write(self, text: str) -> None:
        if not self._writer.is_closing():
            self._writer.write(text.encode())

    async def flush(self) -> None:
        try:
            await self._writer.drain()
        except ConnectionError:
            self._lines.end()
