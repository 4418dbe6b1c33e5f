"""The session memory in Redis. See keys.py for where a session lies, and lua/session.lua for how."""

import json
import uuid
from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from mcp_memory_server.adapters.redis.address import Client, redis_address
from mcp_memory_server.adapters.redis.calls import Calls
from mcp_memory_server.adapters.redis.keys import BUCKETS, deadlines_key, keys_of, scope_of
from mcp_memory_server.adapters.redis.scripts import (
    APPEND,
    DROP,
    FILL,
    LOAD,
    NOTE,
    SETTLE,
    SUM_UP,
    WRITE_STATE,
    Argument,
)
from mcp_memory_server.adapters.redis.times import microseconds, milliseconds, moment
from mcp_memory_server.adapters.redis.watching import versions
from mcp_memory_server.adapters.session_codec.turn_text import turn_from, turn_text
from mcp_memory_server.domain.kernel.item_checks import check_operation_id
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import (
    Appended,
    CachedSession,
    CacheMiss,
    SharedState,
    check_after,
    state_text,
)
from mcp_memory_server.domain.sessions.limits import (
    FULL_REPLIES_KEPT,
    LIVES,
    MAX_RECORDED_TURNS,
    REMEMBERED_OPERATIONS,
    SETTLING,
    STATE_LIFE,
    Limits,
    Tier,
)
from mcp_memory_server.domain.sessions.turns import LIFE, Turn
from mcp_memory_server.errors import CacheUnavailableError, ConflictError

DEADLINE = timedelta(milliseconds=180)

_NOT_SAID = "-"


def open_redis(
    url: str, *, namespace: str = "", deadline: timedelta = DEADLINE, settling: timedelta = SETTLING
) -> "RedisSessionMemory":
    """Return the session memory in this Redis: ``redis://``, ``rediss://`` for TLS, ``?cluster=true`` for a cluster.

    Several memories can share a Redis, each under a namespace of its own. Nothing is sent before it is used, so that a
    Redis which is down now may come up later.

    Raises:
        ConfigurationError: The address cannot be one.
    """
    return RedisSessionMemory(Calls(redis_address(url, namespace), deadline), settling)


class RedisSessionMemory:
    """Answers the session memory's port; every method is one round trip."""

    def __init__(self, calls: Calls, settling: timedelta) -> None:
        self.calls = calls
        self._settling = milliseconds(settling)

    async def append(
        self,
        scope: Scope,
        turn: Turn,
        *,
        operation_id: str,
        tier: Tier,
        limits: Limits,
        now: datetime,
        epoch: int,
        after: str | None = None,
        enqueue: bool = False,
    ) -> Appended | None:
        """See the port. The outbox is that of `RedisOutbox` in the same Redis."""
        check_after(after)
        keys = keys_of(scope, self.calls.address.space)
        arguments = (
            *_adding(turn, operation_id, limits, tier, epoch),
            *_living(now, keys.member),
            _NOT_SAID if after is None else after,
            microseconds(now) if enqueue else _NOT_SAID,
        )
        answer = await self.calls.run(lambda client: APPEND.run(client, (*keys.copy, *keys.outbox), *arguments))
        if answer is None:
            return None
        repeated, turn_id, count, tokens, *gone = answer
        return Appended(turn_id, int(count), int(tokens), repeated=bool(repeated), trimmed=self._readable(gone))

    async def load(self, scope: Scope, *, epoch: int) -> CachedSession | CacheMiss:
        """See the port. A copy that cannot be read is forgotten."""
        try:
            return await self._load(scope, epoch)
        except ValueError:
            return await self._load(scope, epoch, cannot_be_read=True)

    async def fill(
        self, scope: Scope, copy: CachedSession, *, token: str, tier: Tier, limits: Limits, now: datetime, epoch: int
    ) -> bool:
        """See the port."""
        keys = keys_of(scope, self.calls.address.space)
        index = "".join(f"{turn.id} {turn.token_count} {float(turn.importance)!r}\n" for turn in copy.turns)
        arguments = (
            *(epoch, token, self._settling),
            *(copy.count, copy.total_tokens, copy.gap, state_text(copy.summary)),
            *_rules(limits, tier),
            *_living(now, keys.member),
            index,
            *(part for turn in copy.turns for part in (turn.id, turn_text(turn))),
        )
        return bool(await self.calls.run(lambda client: FILL.run(client, keys.copy, *arguments)))

    async def note(
        self, scope: Scope, turn: Turn, *, operation_id: str, tier: Tier, limits: Limits, now: datetime, epoch: int
    ) -> None:
        """See the port."""
        keys = keys_of(scope, self.calls.address.space)
        arguments = (*_adding(turn, operation_id, limits, tier, epoch), *_living(now, keys.member))
        await self.calls.run(lambda client: NOTE.run(client, keys.copy, *arguments))

    async def drop(self, scope: Scope) -> None:
        """See the port."""
        keys = keys_of(scope, self.calls.address.space)
        await self.calls.run(lambda client: DROP.run(client, keys.copy, keys.member, keys.channel))

    async def read_state(self, scope: Scope) -> SharedState:
        """See the port."""
        keys = keys_of(scope, self.calls.address.space)
        version, value = await self.calls.run(lambda client: _state(client, keys.state, "version", "value"))
        return SharedState(None, 0) if version is None else SharedState(json.loads(value), int(version))

    async def write_state(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """See the port."""
        keys, text = keys_of(scope, self.calls.address.space), state_text(value)
        arguments = (expected_version, text, milliseconds(STATE_LIFE), keys.channel)
        version: int = await self.calls.run(lambda client: WRITE_STATE.run(client, keys.copy, *arguments))
        if not version:
            raise ConflictError(f"the shared state is no longer at version {expected_version}; read it again")
        return version

    def watch_state(self, scope: Scope) -> AsyncIterator[int]:
        """See the port. A version that is there at the start is told at once; losing the server is survived."""
        keys = keys_of(scope, self.calls.address.space)

        async def current() -> int:
            (version,) = await self.calls.run(lambda client: _state(client, keys.state, "version"))
            return int(version or 0)

        return versions(self.calls, keys.channel, current)

    async def due(self, now: datetime, *, limit: int) -> Sequence[Scope]:
        """See the port."""
        until = moment(now)

        def read(client: Client) -> list[list[tuple[str, float]]]:
            together = client.pipeline(transaction=False)
            for bucket in range(BUCKETS):
                together.zrangebyscore(
                    deadlines_key(bucket, self.calls.address.space), "-inf", until, start=0, num=limit, withscores=True
                )
            return together.execute()

        found = [entry for bucket in await self.calls.run(read) for entry in bucket]
        return [scope_of(member) for member, _ in sorted(found, key=lambda entry: (entry[1], entry[0]))[:limit]]

    async def settle_deadline(self, scope: Scope, now: datetime) -> None:
        """See the port."""
        keys = keys_of(scope, self.calls.address.space)
        await self.calls.run(lambda client: SETTLE.run(client, keys.copy, moment(now), keys.member))

    async def sum_up(self, scope: Scope, summary: str) -> None:
        """See the port."""
        keys, text = keys_of(scope, self.calls.address.space), state_text(summary)
        await self.calls.run(lambda client: SUM_UP.run(client, keys.copy, text))

    async def close(self) -> None:
        """See the port."""
        await self.calls.close()

    async def _load(self, scope: Scope, epoch: int, *, cannot_be_read: bool = False) -> CachedSession | CacheMiss:
        keys, life = keys_of(scope, self.calls.address.space), milliseconds(LIVES[Tier.STANDARD].at_first)
        arguments = (epoch, _new_token(), life, self._settling, int(cannot_be_read))
        is_whole, *found = await self.calls.run(lambda client: LOAD.run(client, keys.copy, *arguments))
        if not is_whole:
            token, may_be_filled = found
            return CacheMiss(token, may_be_filled=bool(may_be_filled))
        count, tokens, total, summary, gap, *turns = found
        return CachedSession(_turns(turns), int(count), int(tokens), int(total), json.loads(summary), gap)

    def _readable(self, parts: Sequence[str]) -> tuple[Turn, ...]:
        try:
            return _turns(parts)
        except ValueError as error:
            raise CacheUnavailableError(f"{self.calls.address} holds a turn that cannot be read") from error


def _adding(turn: Turn, operation_id: str, limits: Limits, tier: Tier, epoch: int) -> tuple[Argument, ...]:
    check_operation_id(operation_id)
    return (
        *(epoch, _new_token(), operation_id),
        *(turn.id, turn_text(turn), turn.token_count, repr(float(turn.importance))),
        *_rules(limits, tier),
        *(REMEMBERED_OPERATIONS, FULL_REPLIES_KEPT, MAX_RECORDED_TURNS),
    )


def _rules(limits: Limits, tier: Tier) -> tuple[Argument, ...]:
    life = LIVES[tier]
    return (limits.tokens, limits.turns, life.from_turns, milliseconds(life.at_first), milliseconds(life.later))


def _living(now: datetime, member: str) -> tuple[Argument, ...]:
    return (moment(now), milliseconds(STATE_LIFE), milliseconds(LIFE), member)


def _new_token() -> str:
    return uuid.uuid4().hex


def _turns(parts: Sequence[str]) -> tuple[Turn, ...]:
    return tuple(turn_from(turn_id, text) for turn_id, text in zip(parts[::2], parts[1::2], strict=True))


def _state(client: Client, key: str, *names: str) -> list[Any]:
    found: Any = client.hmget(key, list(names))
    return found
