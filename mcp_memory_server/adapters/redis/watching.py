"""Watch a value through a channel, and look it up again whenever a message may have been lost."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from redis.asyncio.client import PubSub

from mcp_memory_server.adapters.redis.address import listener, listening_place
from mcp_memory_server.adapters.redis.calls import FOREIGN_ERRORS, Calls
from mcp_memory_server.errors import CacheUnavailableError

LOOK_AGAIN_SECONDS = 10.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 2.0

logger = logging.getLogger(__name__)


async def versions(calls: Calls, channel: str, current: Callable[[], Awaitable[int]]) -> AsyncGenerator[int]:
    """Yield the version whenever it is another one than before, and whenever it may have been; it begins at 0."""
    seen: int | None = 0
    pause = _FIRST_PAUSE
    while True:
        try:
            place = await calls.run(lambda client: listening_place(calls.address, client))
            async with _Subscription(calls, channel, place) as news:
                version = await current()  # it may have changed before anyone listened
                while True:
                    if version != seen:
                        seen = version
                        yield version
                    pause = _FIRST_PAUSE
                    version = await _next(news, current)
        except (*FOREIGN_ERRORS, CacheUnavailableError) as error:
            logger.warning("watching %s was interrupted (%s); trying again", calls.address, type(error).__name__)
            seen = None  # a server that lost its memory counts from 0 again: the same version may be another state
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


class _Subscription:
    """A connection of its own that listens for as long as the block runs.

    Not a generator: when a watcher is left behind in a loop, Python would close both at once and complain.
    """

    def __init__(self, calls: Calls, channel: str, place: tuple[str, int]) -> None:
        self._redis = listener(calls.address, place, calls.deadline)
        self._news = self._redis.pubsub()
        self._channel = channel
        self._seconds = calls.deadline.total_seconds()

    async def __aenter__(self) -> PubSub:
        try:
            async with asyncio.timeout(self._seconds):
                await self._news.subscribe(self._channel)
                await self._news.get_message(timeout=None)  # that it is subscribed
        except BaseException:
            await self.__aexit__()
            raise
        return self._news

    async def __aexit__(self, *_: object) -> None:
        await self._news.aclose()
        await self._redis.aclose(close_connection_pool=True)


async def _next(news: PubSub, current: Callable[[], Awaitable[int]]) -> int:
    while True:
        message: dict[str, Any] | None = await news.get_message(timeout=LOOK_AGAIN_SECONDS)
        if message is None:
            await news.ping()  # notices a connection that is dead without having been closed
            return await current()
        if message["type"] == "message":
            return int(message["data"])
