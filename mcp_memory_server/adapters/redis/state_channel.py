"""The channel of shared states in Redis. The states themselves are in the table."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from redis.asyncio.client import PubSub

from mcp_memory_server.adapters.redis.address import listener, listening_place
from mcp_memory_server.adapters.redis.calls import FOREIGN_ERRORS, Calls
from mcp_memory_server.adapters.redis.keys import keys_of
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import CacheUnavailableError

LOOK_AGAIN_SECONDS = 10.0
"""How long a listener waits for a message before it looks without one: messages may be lost."""
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0

logger = logging.getLogger(__name__)


class RedisStateChannel:
    """Implements the port."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._space = calls.address.space

    async def announce(self, scope: Scope) -> None:
        """See the port."""
        channel = keys_of(scope, self._space).channel
        try:
            await self._calls.run(lambda client: client.publish(channel, "changed"))
        except CacheUnavailableError as error:
            logger.info("a change of a shared state was not announced: %s", type(error).__name__)

    def listen(self, scope: Scope) -> AsyncIterator[None]:
        """See the port. A lost server is reconnected to."""
        return self._listen(keys_of(scope, self._space).channel)

    async def _listen(self, channel: str) -> AsyncGenerator[None]:
        calls, pause = self._calls, _FIRST_PAUSE
        while True:
            try:
                place = await calls.run(lambda client: listening_place(calls.address, client))
                async with _Subscription(calls, channel, place) as messages:
                    pause = _FIRST_PAUSE
                    while True:
                        yield None  # first because it may have changed before anyone listened
                        await _next(messages)
            except (*FOREIGN_ERRORS, CacheUnavailableError) as error:
                logger.warning(
                    "listening to %s was interrupted (%s); trying again", calls.address, type(error).__name__
                )
                yield None
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)


class _Subscription:
    """A connection of its own that listens for as long as the block runs.

    Not a generator: when a watcher is left behind in a loop, Python would close both at once and complain.
    """

    def __init__(self, calls: Calls, channel: str, place: tuple[str, int]) -> None:
        self._redis = listener(calls.address, place, calls.deadline)
        self._messages = self._redis.pubsub()
        self._channel = channel
        self._seconds = calls.deadline.total_seconds()

    async def __aenter__(self) -> PubSub:
        try:
            async with asyncio.timeout(self._seconds):
                await self._messages.subscribe(self._channel)
                await self._messages.get_message(timeout=None)  # that it is subscribed
        except BaseException:
            await self.__aexit__()
            raise
        return self._messages

    async def __aexit__(self, *_: object) -> None:
        await self._messages.aclose()
        await self._redis.aclose(close_connection_pool=True)


async def _next(messages: PubSub) -> None:
    """Return after the next message, or when it is time to look without one."""
    while True:
        message: dict[str, Any] | None = await messages.get_message(timeout=LOOK_AGAIN_SECONDS)
        if message is None:
            await messages.ping()  # notices a connection that is dead without having been closed
            return
        if message["type"] == "message":
            return
