"""The session memory in Redis. See keys.py for where a session lies, and lua/session.lua for how."""

import json
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from mcp_memory_server.adapters.redis.address import Client, redis_address
from mcp_memory_server.adapters.redis.calls import Calls
from mcp_memory_server.adapters.redis.keys import BUCKETS, deadlines_key, keys_of, scope_of
from mcp_memory_server.adapters.redis.scripts import APPEND, DROP, FILL, LOAD, WRITE_STATE
from mcp_memory_server.adapters.redis.watching import versions
from mcp_memory_server.domain.items import check_operation_id
from mcp_memory_server.domain.kept_sessions import (
    REMEMBERED_OPERATIONS,
    STATE_LIFE,
    TOLD_IN_FULL,
    state_text,
    turn_from,
    turn_text,
)
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.session_copies import Appended, SessionCopy, SharedState
from mcp_memory_server.domain.sessions import LIVES, Limits, Tier, lifetime
from mcp_memory_server.domain.turns import LIFE, Turn
from mcp_memory_server.errors import CacheUnavailableError, ConflictError

DEADLINE = timedelta(milliseconds=250)


def open_redis(url: str, *, deadline: timedelta = DEADLINE) -> "RedisSessionMemory":
    """Return the session memory in this Redis: ``redis://``, ``rediss://`` for TLS, ``?cluster=true`` for a cluster.

    Nothing is sent before it is used, so that a Redis which is down now may come up later.

    Raises:
        ConfigurationError: The address cannot be one.
    """
    return RedisSessionMemory(Calls(redis_address(url), deadline))


class RedisSessionMemory:
    """Answers the session memory's port; every method is one round trip."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def append(
        self, scope: Scope, turn: Turn, *, operation_id: str, tier: Tier, limits: Limits, now: datetime
    ) -> Appended:
        """See the port."""
        check_operation_id(operation_id)
        keys, life = keys_of(scope), LIVES[tier]
        arguments = (
            *(operation_id, turn.id, turn_text(turn), turn.token_count, repr(float(turn.importance))),
            *(limits.tokens, limits.turns),
            *(life.from_turns, _milliseconds(life.at_first), _milliseconds(life.later)),
            *(REMEMBERED_OPERATIONS, TOLD_IN_FULL),
            *(_moment(now), _milliseconds(STATE_LIFE), _milliseconds(LIFE), keys.member),
        )
        repeated, turn_id, count, tokens, *gone = await self._calls.run(
            lambda client: APPEND.run(client, keys, *arguments)
        )
        return Appended(turn_id, int(count), int(tokens), repeated=bool(repeated), trimmed=self._readable(gone))

    async def load(self, scope: Scope) -> SessionCopy | None:
        """See the port. A copy that cannot be read is none."""
        keys = keys_of(scope)
        found = await self._calls.run(lambda client: LOAD.run(client, keys))
        if found is None:
            return None
        count, tokens, *turns = found
        try:
            return SessionCopy(_turns(turns), int(count), int(tokens))
        except ValueError:
            return None

    async def fill(self, scope: Scope, turns: Sequence[Turn], *, count: int, tier: Tier, now: datetime) -> bool:
        """See the port."""
        keys = keys_of(scope)
        index = "".join(f"{turn.id} {turn.token_count} {float(turn.importance)!r}\n" for turn in turns)
        arguments = (
            *(count, sum(turn.token_count for turn in turns), index),
            *(_moment(now), _milliseconds(lifetime(tier, count)), _milliseconds(STATE_LIFE), _milliseconds(LIFE)),
            *(keys.member, REMEMBERED_OPERATIONS),
            *(part for turn in turns for part in (turn.id, turn_text(turn))),
        )
        return bool(await self._calls.run(lambda client: FILL.run(client, keys, *arguments)))

    async def drop(self, scope: Scope) -> None:
        """See the port."""
        keys = keys_of(scope)
        await self._calls.run(lambda client: DROP.run(client, keys, keys.member, keys.channel))

    async def read_state(self, scope: Scope) -> SharedState:
        """See the port."""
        keys = keys_of(scope)
        version, value = await self._calls.run(lambda client: _state(client, keys.state, "version", "value"))
        return SharedState(None, 0) if version is None else SharedState(json.loads(value), int(version))

    async def write_state(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """See the port."""
        keys, text = keys_of(scope), state_text(value)
        arguments = (expected_version, text, _milliseconds(STATE_LIFE), keys.channel)
        version: int = await self._calls.run(lambda client: WRITE_STATE.run(client, keys, *arguments))
        if not version:
            raise ConflictError(f"the shared state is no longer at version {expected_version}; read it again")
        return version

    def watch_state(self, scope: Scope) -> AsyncIterator[int]:
        """See the port. A version that is there at the start is told at once; losing the server is survived."""
        keys = keys_of(scope)

        async def current() -> int:
            (version,) = await self._calls.run(lambda client: _state(client, keys.state, "version"))
            return int(version or 0)

        return versions(self._calls, keys.channel, current)

    async def due(self, now: datetime, *, limit: int) -> Sequence[Scope]:
        """See the port."""
        moment = _moment(now)

        def read(client: Client) -> list[list[tuple[str, float]]]:
            together = client.pipeline(transaction=False)
            for bucket in range(BUCKETS):
                together.zrangebyscore(deadlines_key(bucket), "-inf", moment, start=0, num=limit, withscores=True)
            return together.execute()

        found = [entry for bucket in await self._calls.run(read) for entry in bucket]
        return [scope_of(member) for member, _ in sorted(found, key=lambda entry: (entry[1], entry[0]))[:limit]]

    async def close(self) -> None:
        """See the port."""
        await self._calls.close()

    def _readable(self, parts: Sequence[str]) -> tuple[Turn, ...]:
        try:
            return _turns(parts)
        except ValueError as error:
            raise CacheUnavailableError(f"{self._calls.address} holds a turn that cannot be read") from error


def _turns(parts: Sequence[str]) -> tuple[Turn, ...]:
    return tuple(turn_from(turn_id, text) for turn_id, text in zip(parts[::2], parts[1::2], strict=True))


def _state(client: Client, key: str, *names: str) -> list[Any]:
    found: Any = client.hmget(key, list(names))
    return found


def _moment(now: datetime) -> int:
    return round(now.timestamp() * 1000)


def _milliseconds(duration: timedelta) -> int:
    return duration // timedelta(milliseconds=1)
