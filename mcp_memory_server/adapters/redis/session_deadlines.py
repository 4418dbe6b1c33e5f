"""The deadlines of sessions in Redis: a sorted set in each bucket, written by the scripts that append turns."""

from collections.abc import Sequence
from datetime import datetime

from mcp_memory_server.adapters.redis.address import Client
from mcp_memory_server.adapters.redis.calls import Calls
from mcp_memory_server.adapters.redis.keys import BUCKETS, deadlines_key, keys_of, scope_of
from mcp_memory_server.adapters.redis.scripts import SETTLE
from mcp_memory_server.adapters.redis.times import moment
from mcp_memory_server.domain.kernel.scope import Scope


class RedisSessionDeadlines:
    """Implements the port; every method is one round trip to each server."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._space = calls.address.space

    async def due(self, now: datetime, *, limit: int) -> Sequence[Scope]:
        """See the port."""
        until = moment(now)

        def read(client: Client) -> list[list[tuple[str, float]]]:
            together = client.pipeline(transaction=False)
            for bucket in range(BUCKETS):
                key = deadlines_key(bucket, self._space)
                together.zrangebyscore(key, "-inf", until, start=0, num=limit, withscores=True)
            return together.execute()

        found = [entry for bucket in await self._calls.run(read) for entry in bucket]
        return [scope_of(member) for member, _ in sorted(found, key=lambda entry: (entry[1], entry[0]))[:limit]]

    async def settle(self, scope: Scope, now: datetime) -> None:
        """See the port."""
        keys = keys_of(scope, self._space)
        await self._calls.run(lambda client: SETTLE.run(client, keys.cached, moment(now), keys.member))
