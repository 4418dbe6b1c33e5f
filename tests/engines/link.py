"""A line to a server that can be cut, can hold back what is sent, and heals."""

import asyncio
from contextlib import suppress
from typing import Self


class Link:
    """Stands before a port of this machine for as long as its block lasts."""

    def __init__(self, port: int) -> None:
        self._behind = port
        self._is_cut = False
        self._flows = asyncio.Event()
        self._flows.set()
        self._ends: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        return self._server.sockets[0].getsockname()[1]

    def cut(self) -> None:
        """End every connection, and from now on every new one."""
        self._is_cut = True
        self._flows.set()
        for end in self._ends:
            end.close()

    def hang(self) -> None:
        """Hold back whatever is sent, in both directions."""
        self._flows.clear()

    def heal(self) -> None:
        """Let everything pass again, what was held back first."""
        self._is_cut = False
        self._flows.set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        ends = [writer]
        try:
            with suppress(OSError, asyncio.CancelledError):
                if not self._is_cut:
                    await self._connect(reader, writer, ends)
        finally:
            self._tasks.discard(task)
            for end in ends:
                self._ends.discard(end)
                end.close()

    async def _connect(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, ends: list[asyncio.StreamWriter]
    ) -> None:
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", self._behind)
        ends.append(behind_writer)
        self._ends.update(ends)
        pumps = [
            asyncio.create_task(self._pass_on(reader, behind_writer)),
            asyncio.create_task(self._pass_on(behind_reader, writer)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            await self._flows.wait()
            writer.write(data)
            await writer.drain()
