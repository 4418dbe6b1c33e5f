"""Proxies that stand before Redis and DynamoDB and keep a note of every request that reaches them."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from mcp_memory_server.adapters.redis import scripts
from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.schema.keys import COPIES_EPOCH
from mcp_memory_server.schema.turn_records import META

WRITES = {"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"}
DELIVERY = {"CLAIM", "CLAIMABLE", "REMOVE", "RELEASE", "PUT_OFF"}
"""What only the thread that empties the outbox asks for."""
SCRIPTS = {script.digest: name for name, script in vars(scripts).items() if isinstance(script, scripts.Script)}


@dataclass(frozen=True)
class Request:
    """What was asked for, and the items that it names."""

    name: str
    keys: tuple[Key, ...] = ()

    @property
    def is_look_at_the_epoch(self) -> bool:
        """Whether it asks if copies may be trusted: once in a few seconds for each process, whatever it does."""
        return self.keys == (COPIES_EPOCH,)

    @property
    def writes_counters(self) -> bool:
        return self.name in WRITES and any(key.sk == META for key in self.keys)

    @property
    def is_behind(self) -> bool:
        """Whether it counts or delivers turns that were acknowledged before: nobody waits for that."""
        return self.name in DELIVERY or (self.name == "UpdateItem" and self.writes_counters)


Read = Callable[[asyncio.StreamReader], Awaitable[tuple[Request, bytes]]]


class CountingProxy:
    """Stands before a port of this machine for as long as its block lasts.

    A pipeline counts as many requests as it holds, so no round trip is hidden. Starting a connection counts too.
    """

    def __init__(self, port: int, read: Read) -> None:
        self.requests: list[Request] = []
        self._behind = port
        self._read = read
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def port(self) -> int:
        return self._server.sockets[0].getsockname()[1]

    def since(self, before: int) -> list[Request]:
        """Return the requests after the first so many that somebody waited for."""
        some = self.requests[before:]
        return [request for request in some if not request.is_look_at_the_epoch and not request.is_behind]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        behind_reader, behind_writer = await asyncio.open_connection("127.0.0.1", self._behind)
        replies = asyncio.create_task(_pass_on(behind_reader, writer))
        try:
            with suppress(asyncio.IncompleteReadError, OSError):
                while True:
                    request, data = await self._read(reader)
                    self.requests.append(request)
                    behind_writer.write(data)
        finally:
            replies.cancel()
            behind_writer.close()
            writer.close()


async def redis_command(reader: asyncio.StreamReader) -> tuple[Request, bytes]:
    """Read one command. A script goes by its name, whether it is called by its text or by its digest."""
    first = await reader.readuntil(b"\r\n")
    data, words = first, list[bytes]()
    for _ in range(int(first[1:])):
        length = await reader.readuntil(b"\r\n")
        word = await reader.readexactly(int(length[1:]) + 2)
        data += length + word
        words.append(word[:-2])
    name = words[0].decode().upper()
    return Request(SCRIPTS.get(words[1].decode(), name) if name == "EVALSHA" else name), data


async def dynamodb_request(reader: asyncio.StreamReader) -> tuple[Request, bytes]:
    """Read one request with its body."""
    head = await reader.readuntil(b"\r\n\r\n")
    fields = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:-2])
    named = {name.lower(): value for name, value in fields.items()}
    body = await reader.readexactly(int(named.get("content-length", 0)))
    operation = named.get("x-amz-target", "").rpartition(".")[2]
    return Request(operation, tuple(_keys(json.loads(body)))), head + body


def _keys(body: Any) -> Iterator[Key]:
    for write in body.get("TransactItems", ()):
        for parts in write.values():
            yield from _keys(parts)
    lies = body.get("Key") or body.get("Item")
    if lies is not None:
        yield Key(lies["pk"]["S"], lies["sk"]["S"])


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
