"""Requests to Redis: sent from threads, within one deadline, never repeated, their errors turned into ours."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Lock
from typing import TypeVar

from redis.exceptions import RedisClusterException, RedisError

from mcp_memory_server.adapters.redis.address import Client, RedisAddress, connector
from mcp_memory_server.errors import CacheUnavailableError

R = TypeVar("R")

MAX_REQUESTS_AT_ONCE = 32
WAITING = 1.6
"""How many times its deadline a call may take in all."""

FOREIGN_ERRORS = (RedisError, RedisClusterException, OSError)
"""Everything that the client raises, the errors of sockets and of TLS included."""


class Calls:
    """A client of one Redis. It is made when first used; what is open is closed by ``close``.

    Threads and a client that knows no event loop: the same memory may be used from one loop after another.
    """

    def __init__(self, address: RedisAddress, deadline: timedelta) -> None:
        self.address = address
        self.deadline = deadline
        self._connect = connector(address, deadline, MAX_REQUESTS_AT_ONCE)
        self._threads = ThreadPoolExecutor(MAX_REQUESTS_AT_ONCE, thread_name_prefix="redis")
        self._connecting = Lock()
        self._client: Client | None = None

    async def run(self, work: Callable[[Client], R]) -> R:
        """Return what the work returns.

        Raises:
            CacheUnavailableError: There was no answer in time, or it was a refusal.
        """
        # The socket has the deadline as its timeout. This one is for what has none, such as waiting for a thread: a
        # burst of calls must not be taken for a server that does not answer.
        seconds = WAITING * self.deadline.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.wrap_future(self._submit(work))
        except TimeoutError as error:
            raise CacheUnavailableError(f"{self.address} did not answer within {seconds:g} s") from error
        except FOREIGN_ERRORS as error:
            raise CacheUnavailableError(f"{self.address} could not be used: {type(error).__name__}") from error

    async def close(self) -> None:
        """Let running requests end and close the client. What hangs longer than a call may take is left behind."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(self._let_go), self.deadline.total_seconds())

    def _submit(self, work: Callable[[Client], R]) -> Future[R]:
        try:
            return self._threads.submit(lambda: work(self._connected()))
        except RuntimeError as error:
            raise CacheUnavailableError(f"{self.address} was closed") from error

    def _connected(self) -> Client:
        if self._client is None:
            with self._connecting:
                self._client = self._client or self._connect()
        return self._client

    def _let_go(self) -> None:
        self._threads.shutdown(cancel_futures=True)
        client, self._client = self._client, None
        if client is not None:
            client.close()
