"""Everything that one Redis holds of running sessions, over one client."""

from dataclasses import dataclass
from datetime import timedelta

from mcp_memory_server.adapters.redis.address import redis_address
from mcp_memory_server.adapters.redis.calls import Calls
from mcp_memory_server.adapters.redis.session_cache import RedisSessionCache
from mcp_memory_server.adapters.redis.session_deadlines import RedisSessionDeadlines
from mcp_memory_server.adapters.redis.state_channel import RedisStateChannel
from mcp_memory_server.domain.sessions.limits import SETTLING

DEADLINE = timedelta(milliseconds=180)


@dataclass(frozen=True)
class RedisSessions:
    """The session cache, the deadlines and the channel of shared states of one Redis."""

    calls: Calls
    cache: RedisSessionCache
    deadlines: RedisSessionDeadlines
    channel: RedisStateChannel

    async def close(self) -> None:
        """Close the client. Closing twice is harmless."""
        await self.calls.close()


def open_redis(
    url: str, *, namespace: str = "", deadline: timedelta = DEADLINE, settling: timedelta = SETTLING
) -> RedisSessions:
    """Return the stores in this Redis: ``redis://``, ``rediss://`` for TLS, ``?cluster=true`` for a cluster.

    Several memories can share a Redis, each under a namespace of its own. Nothing is sent before a store is used, so
    that a Redis which is down now may come up later.

    Raises:
        ConfigurationError: The address cannot be one.
    """
    calls = Calls(redis_address(url, namespace), deadline)
    return RedisSessions(
        calls, RedisSessionCache(calls, settling), RedisSessionDeadlines(calls), RedisStateChannel(calls)
    )
