"""A proxy before DynamoDB that decides the fate of each request: passed on, refused, held back, or its reply lost."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum, auto
from typing import Self
from urllib.parse import urlsplit


class Fate(Enum):
    """What becomes of a request."""

    PASSES = auto()
    IS_SLOW = auto()
    """It passes, after a while."""
    IS_DROPPED = auto()
    """The connection ends. The engine never sees the request."""
    HANGS = auto()
    """Nobody answers until the proxy is told otherwise, and then the connection ends."""
    IS_THROTTLED = auto()
    IS_INVALID = auto()
    IS_DENIED = auto()
    LOSES_ITS_REPLY = auto()
    """The engine does what is asked, and the connection ends instead of an answer."""


@dataclass(frozen=True)
class Asked:
    """A request: the operation that it names, and what it says."""

    operation: str
    body: bytes


SLOW_SECONDS = 0.15
WRITES = frozenset({"PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem"})
ERRORS = {
    Fate.IS_THROTTLED: "ProvisionedThroughputExceededException",
    Fate.IS_INVALID: "ValidationException",
    Fate.IS_DENIED: "AccessDeniedException",
}


def always(fate: Fate) -> Callable[[Asked], Fate]:
    return lambda _: fate


def for_writes(fate: Fate) -> Callable[[Asked], Fate]:
    """Decide so for what changes the table; whoever reads it notices nothing."""
    return lambda asked: fate if asked.operation in WRITES else Fate.PASSES


class HttpProxy:
    """Stands before an endpoint for as long as its block lasts. ``met`` counts the fates by operation."""

    def __init__(self, endpoint: str) -> None:
        self.met: Counter[tuple[str, Fate]] = Counter()
        self._behind = urlsplit(endpoint)
        self._decide = always(Fate.PASSES)
        self._changed = asyncio.Event()
        self._connections: set[asyncio.Task[None]] = set()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    def decide(self, decide: Callable[[Asked], Fate]) -> None:
        """From now on this decides the fate of a request. What hangs is let go."""
        self._decide = decide
        self._changed.set()
        self._changed = asyncio.Event()

    def once(self, operation: str, fate: Fate, *, about: bytes = b"") -> None:
        """Let the next request of an operation that mentions this meet its fate, and pass everything else on."""

        def decide(asked: Asked) -> Fate:
            if asked.operation != operation or about not in asked.body:
                return Fate.PASSES
            self.decide(always(Fate.PASSES))
            return fate

        self.decide(decide)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            with suppress(asyncio.IncompleteReadError, OSError, asyncio.CancelledError):
                while (answer := await self._answer(*await _read(reader))) is not None:
                    writer.write(answer)
                    await writer.drain()
        finally:
            self._connections.discard(task)
            writer.close()

    async def _answer(self, head: bytes, body: bytes) -> bytes | None:
        """Return what the client is sent, None if its connection ends."""
        asked = Asked(header(head, b"x-amz-target").rpartition(".")[2], body)
        changed, fate = self._changed, self._decide(asked)
        self.met[asked.operation, fate] += 1
        if fate is Fate.HANGS:
            await changed.wait()
            return None
        if fate in ERRORS:
            return refusal(ERRORS[fate])
        if fate is Fate.IS_DROPPED:
            return None
        if fate is Fate.IS_SLOW:
            await asyncio.sleep(SLOW_SECONDS)  # this is what the engine is made to be
        answer = await self.pass_on(head, body)
        return None if fate is Fate.LOSES_ITS_REPLY else answer

    async def pass_on(self, head: bytes, body: bytes) -> bytes:
        """Return what the engine answers."""
        reader, writer = await asyncio.open_connection(self._behind.hostname, self._behind.port)
        writer.write(head + body)
        answer_head, answer_body = await _read(reader)
        writer.close()
        return answer_head + answer_body


async def _read(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    """Return the head and the body of a message."""
    head = await reader.readuntil(b"\r\n\r\n")
    if header(head, b"transfer-encoding") == "chunked":
        return head, await _read_chunks(reader)
    return head, await reader.readexactly(int(header(head, b"content-length") or 0))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    """Return a body that was sent in pieces, as it was sent."""
    body, size = b"", None
    while size != 0:
        line = await reader.readuntil(b"\r\n")
        size = int(line, 16)
        body += line + await reader.readexactly(size + 2)
    return body


def header(head: bytes, name: bytes) -> str:
    """Return what a head says under this name, nothing if it does not."""
    for line in head.split(b"\r\n"):
        if line.lower().startswith(name + b":"):
            return line.partition(b":")[2].strip().decode()
    return ""


def refusal(code: str, message: str = "no") -> bytes:
    """Return an error as DynamoDB sends it."""
    return reply({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message}, "400 Bad Request")


def reply(content: object, status: str = "200 OK") -> bytes:
    """Return an answer as DynamoDB sends it."""
    body = json.dumps(content).encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
