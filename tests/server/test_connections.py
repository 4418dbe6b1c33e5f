"""A server that stays up: slow, silent and too many clients do not keep the others from being answered."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager

import pytest
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from mcp_memory_server.server.limits.connections import ConnectionLimits, limited_protocol

pytestmark = pytest.mark.anyio

PATIENCE = 10
LARGE = 50_000_000
HEAD = b"GET /quick HTTP/1.1\r\nHost: x\r\n\r\n"
SLOW = b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n"


class Stage:
    """A web server with small limits. A held request is answered when the test says so."""

    def __init__(self) -> None:
        self.release = asyncio.Event()
        self.held = asyncio.Semaphore(0)
        self.port = 0
        self.was_connected = False
        self.writers: list[asyncio.StreamWriter] = []
        self.connections: Collection[object] = ()

    def app(self) -> Starlette:
        async def quick(_request: Request) -> Response:
            return PlainTextResponse("quick")

        async def hold(_request: Request) -> Response:
            self.held.release()
            await self.release.wait()
            return PlainTextResponse("held")

        async def large(_request: Request) -> Response:
            self.was_connected = True
            return PlainTextResponse("x" * LARGE)

        return Starlette(routes=[Route("/quick", quick), Route("/held", hold), Route("/large", large)])

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.writers.append(writer)
        return reader, writer


@asynccontextmanager
async def serving(limits: ConnectionLimits) -> AsyncGenerator[Stage]:
    stage = Stage()
    config = uvicorn.Config(stage.app(), http=limited_protocol(limits), log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    stage.connections = server.server_state.connections
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stage.port = listener.getsockname()[1]
        running = asyncio.create_task(server.serve(sockets=[listener]))
        try:
            yield stage
        finally:
            stage.release.set()
            for writer in stage.writers:
                writer.close()
            server.should_exit = server.force_exit = True
            await running


async def answer(reader: asyncio.StreamReader) -> bytes:
    """Return everything until the connection ends."""
    async with asyncio.timeout(PATIENCE):
        try:
            return await reader.read()
        except ConnectionResetError:
            return b""


async def status(stage: Stage, request: bytes = HEAD) -> int:
    reader, writer = await stage.connect()
    writer.write(request.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    line = (await answer(reader)).split(b"\r\n")[0]
    writer.close()
    return int(line.split()[1]) if line else 0


@pytest.mark.parametrize("sent", [b"", b"GET /quick HT", HEAD[:-2], HEAD + b"GET /qui"])
async def test_a_client_that_never_finishes_its_head_is_disconnected(sent: bytes) -> None:
    async with serving(ConnectionLimits(head=0.05, idle=0.05, closing=0.05)) as stage:
        reader, writer = await stage.connect()
        writer.write(sent)

        assert (await answer(reader)).count(b"HTTP/1.1 200") == sent.count(HEAD)


async def test_a_head_that_drips_in_is_not_waited_for_longer_than_one_that_stops() -> None:
    async with serving(ConnectionLimits(head=0.05, closing=0.05)) as stage:
        reader, writer = await stage.connect()

        async def drip() -> None:
            while True:
                writer.write(b"G")
                await asyncio.sleep(0.01)

        dripping = asyncio.create_task(drip())
        await answer(reader)
        dripping.cancel()


async def test_a_client_that_is_idle_after_an_answer_is_disconnected() -> None:
    async with serving(ConnectionLimits(idle=0.05, closing=0.05)) as stage:
        reader, writer = await stage.connect()
        writer.write(HEAD)

        assert (await answer(reader)).endswith(b"quick")


async def test_a_client_that_does_not_read_its_answer_is_disconnected() -> None:
    async with serving(ConnectionLimits(idle=0.05, request=0.05, closing=0.05)) as stage:
        reader, writer = await stage.connect()
        writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
        writer.write(b"GET /large HTTP/1.1\r\nHost: x\r\n\r\n")
        async with asyncio.timeout(PATIENCE):
            while not stage.was_connected or stage.connections:  # noqa: ASYNC110 - uvicorn has no event for it
                await asyncio.sleep(0.01)
        writer.transport.resume_reading()  # pyright: ignore[reportAttributeAccessIssue]

        assert len(await answer(reader)) < LARGE


async def test_idle_connections_make_room_for_those_that_ask() -> None:
    async with serving(ConnectionLimits(most=10)) as stage:
        for _ in range(50):
            await stage.connect()

        assert [await status(stage) for _ in range(5)] == [200] * 5


async def test_over_the_limit_the_excess_is_refused_and_not_everybody() -> None:
    async with serving(ConnectionLimits(most=10)) as stage:
        first = [asyncio.create_task(status(stage, SLOW)) for _ in range(10)]
        for _ in first:
            await stage.held.acquire()
        refused = [await status(stage) for _ in range(5)]
        stage.release.set()

        assert refused == [503] * 5
        assert await asyncio.gather(*first) == [200] * 10
        assert await status(stage) == 200


async def test_a_refusal_says_when_to_try_again() -> None:
    async with serving(ConnectionLimits(most=1)) as stage:
        held = asyncio.create_task(status(stage, SLOW))
        await stage.held.acquire()
        reader, _ = await stage.connect()

        assert b"\r\nRetry-After: 2\r\n" in await answer(reader)
        stage.release.set()
        await held
