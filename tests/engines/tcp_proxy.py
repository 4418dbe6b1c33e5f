"""A proxy that loses replies, or speaks TLS for a server that does not."""

import asyncio
import ssl
from contextlib import suppress
from typing import Self


class TcpProxy:
    """Stands before a port of this machine for as long as its block lasts."""

    def __init__(self, port: int, *, tls: ssl.SSLContext | None = None) -> None:
        self.lose_next_reply = False
        self.lost = 0
        self._behind = port
        self._tls = tls
        self._connections: set[asyncio.Task[None]] = set()
        self._writers: list[asyncio.StreamWriter] = []

    @property
    def port(self) -> int:
        return self._server.sockets[0].getsockname()[1]

    def lead_to(self, port: int) -> None:
        """Cut every connection, and stand before another port from now on."""
        self._behind = port
        for writer in self._writers:
            writer.close()
        self._writers.clear()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for writer in self._writers:
            writer.close()
        await asyncio.gather(*self._connections)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", self._behind)
        self._writers += (writer, behind_writer)
        pumps = [
            asyncio.create_task(self._pass_on(reader, behind_writer, replies=False)),
            asyncio.create_task(self._pass_on(behind_reader, writer, replies=True)),
        ]
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        for one in (writer, behind_writer):
            one.close()  # which ends the other pump
        await asyncio.gather(*pumps, return_exceptions=True)
        for one in (writer, behind_writer):
            with suppress(OSError):
                await one.wait_closed()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, replies: bool) -> None:
        while data := await reader.read(65536):
            if replies and self.lose_next_reply:
                self.lose_next_reply = False
                self.lost += 1
                return
            writer.write(data)
            await writer.drain()
