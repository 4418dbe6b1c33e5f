"""The standard streams of this process, awaited by its event loop.

The SDK hands each line that it reads, writes and flushes to a thread, which takes a quarter of the time of an empty
call. An event loop can wait for pipes itself. The SDK's streams are used where there are no pipes (a terminal, a file,
Windows) or where two streams share one, because making it non-blocking would affect the other.
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
    """Open the streams of a server of the SDK. Meanwhile nothing else can read the input or write to the output."""
    async with AsyncExitStack() as stack:
        if _can_be_awaited():
            lines = await stack.enter_async_context(_input())
            replies = _Replies(await stack.enter_async_context(_output()), lines)
            # They have all the methods that the SDK uses of a file.
            streams = stdio_server(cast("AsyncFile[str]", lines), cast("AsyncFile[str]", replies))
        else:
            streams = stdio_server()
        yield await stack.enter_async_context(streams)


def _can_be_awaited() -> bool:
    """Return whether input and output are separate pipes: non-blocking mode belongs to a pipe, not to a descriptor."""
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
        # Written data goes to the client at once, not to a buffer that is lost with the process.
        transport.set_write_buffer_limits(0)
        with closing(transport):
            yield asyncio.StreamWriter(transport, flow, None, loop)


@contextmanager
def _diverted(stream: int, elsewhere: int) -> Generator[int]:
    """Point a standard stream elsewhere and yield the original, so that a stray print does not reach the client."""
    before = os.dup(stream)
    try:
        os.dup2(elsewhere, stream)
        yield os.dup(before)  # closed by the transport that uses it
    finally:
        os.set_blocking(before, True)
        os.dup2(before, stream)
        os.close(before)


class _Lines:
    """The lines that the client sends."""

    def __init__(self, reader: asyncio.StreamReader, transport: asyncio.ReadTransport) -> None:
        self._reader = reader
        self._transport = transport

    def end(self) -> None:
        """End the iteration after the current line."""
        self._transport.close()

    def __aiter__(self) -> "_Lines":
        return self

    async def __anext__(self) -> str:
        try:
            line = await self._reader.readline()
        except ValueError:  # the line is too long to be read
            return "\n"
        if not line:
            raise StopAsyncIteration
        return line.decode(errors="replace")


class _Replies:
    """The replies to the client. When the client has closed its end, no more requests are read either."""

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
