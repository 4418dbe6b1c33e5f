"""The session cache in Redis. See keys.py for its keys, and lua/session_cache/session.lua for what they hold."""

import json
import uuid
from collections.abc import Sequence
from datetime import timedelta

from mcp_memory_server.adapters.redis.address import Client
from mcp_memory_server.adapters.redis.calls import Calls
from mcp_memory_server.adapters.redis.keys import keys_of, scope_of, sessions_pattern
from mcp_memory_server.adapters.redis.scripts import (
    APPEND,
    DROP,
    FILL,
    LOAD,
    PING,
    RECORD_STORED,
    SET_SUMMARY,
    Argument,
)
from mcp_memory_server.adapters.redis.times import microseconds, milliseconds, moment
from mcp_memory_server.adapters.session_codec.turn_text import turn_from, turn_text
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.text import compact_json
from mcp_memory_server.domain.sessions.cached_session import (
    Appended,
    CacheContext,
    CachedSession,
    CacheMiss,
    StoredIds,
    check_after,
)
from mcp_memory_server.domain.sessions.limits import (
    FULL_REPLIES_KEPT,
    LIVES,
    MAX_RECORDED_TURNS,
    REMEMBERED_OPERATIONS,
    STATE_LIFE,
    Tier,
)
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import LIFE, Turn
from mcp_memory_server.errors import CacheUnavailableError

_ABSENT = "-"
_LIVES = {
    tier: (life.from_turns, milliseconds(life.at_first), milliseconds(life.later)) for tier, life in LIVES.items()
}
_STATE_LIFE, _DEADLINES_KEPT = milliseconds(STATE_LIFE), milliseconds(LIFE)
_FIRST_LIFE = milliseconds(LIVES[Tier.STANDARD].at_first)


class RedisSessionCache:
    """Implements the port; every method is one round trip."""

    def __init__(self, calls: Calls, settling: timedelta) -> None:
        self._calls = calls
        self._space = calls.address.space
        self._settling = milliseconds(settling)

    async def append(
        self, write: TurnWrite, context: CacheContext, *, after: str | None = None, enqueue: bool = False
    ) -> Appended | None:
        """See the port. The outbox is that of `RedisOutbox` in the same Redis."""
        check_after(after)
        keys = keys_of(write.scope, self._space)
        arguments = (
            *_turn_arguments(write, context, keys.member),
            _ABSENT if after is None else after,
            microseconds(context.now) if enqueue else _ABSENT,
        )
        answer = await self._calls.run(lambda client: APPEND.run(client, (*keys.cached, *keys.outbox), *arguments))
        if answer is None:
            return None
        repeated, token, turn_id, count, tokens, *trimmed = answer
        turns = self._turns(trimmed) if trimmed else ()
        return Appended(turn_id, int(count), int(tokens), bool(repeated), turns, token)

    async def load(self, scope: Scope, *, epoch: int) -> CachedSession | CacheMiss:
        """See the port. A session that cannot be read is discarded."""
        try:
            return await self._load(scope, epoch)
        except ValueError:
            return await self._load(scope, epoch, cannot_be_read=True)

    async def fill(
        self,
        scope: Scope,
        session: CachedSession,
        context: CacheContext,
        *,
        token: str,
        stored: StoredIds | None = None,
    ) -> bool:
        """See the port."""
        stored = stored or StoredIds(session.gap)
        keys = keys_of(scope, self._space)
        index = "".join(f"{turn.id} {turn.token_count} {float(turn.importance)!r}\n" for turn in session.turns)
        arguments = (
            *(context.epoch, token, self._settling),
            *(session.count, session.total_tokens, session.gap, compact_json(session.summary)),
            *_limits_and_lives(context),
            *(moment(context.now), _STATE_LIFE, _DEADLINES_KEPT, keys.member),
            *(stored.since, "".join(stored.ids), index),
            *(part for turn in session.turns for part in (turn.id, turn_text(turn))),
        )
        return bool(await self._calls.run(lambda client: FILL.run(client, (*keys.cached, *keys.outbox), *arguments)))

    async def record_stored(self, write: TurnWrite, context: CacheContext, *, counted_in: str = "") -> None:
        """See the port."""
        keys = keys_of(write.scope, self._space)
        arguments = (*_turn_arguments(write, context, keys.member), counted_in)
        await self._calls.run(lambda client: RECORD_STORED.run(client, keys.cached, *arguments))

    async def drop(self, scope: Scope) -> None:
        """See the port."""
        keys = keys_of(scope, self._space)
        await self._calls.run(lambda client: DROP.run(client, keys.cached, keys.member))

    async def sessions_of(self, user_id: str) -> Sequence[Scope]:
        """See the port."""

        def listed(client: Client) -> list[str]:
            return list(client.scan_iter(match=sessions_pattern(user_id, self._space), count=1000))

        names = await self._calls.run(listed)
        return [scope_of(name.split(":session:", 1)[1]) for name in names]

    async def set_summary(self, scope: Scope, summary: str) -> None:
        """See the port."""
        keys, text = keys_of(scope, self._space), compact_json(summary)
        await self._calls.run(lambda client: SET_SUMMARY.run(client, keys.cached, text))

    async def ping(self) -> str:
        """See the port. It reads a key, as the other methods do. Of a cluster, the server of one bucket answers."""
        key = keys_of(Scope("ping", "ping"), self._space).session
        return await self._calls.run(lambda client: PING.run(client, (key,)))

    async def close(self) -> None:
        """See the port."""
        await self._calls.close()

    async def _load(self, scope: Scope, epoch: int, *, cannot_be_read: bool = False) -> CachedSession | CacheMiss:
        keys = keys_of(scope, self._space)
        arguments = (epoch, _new_token(), _FIRST_LIFE, self._settling, int(cannot_be_read))
        is_whole, *found = await self._calls.run(lambda client: LOAD.run(client, keys.cached, *arguments))
        if not is_whole:
            token, may_be_filled, oldest_recorded = found
            return CacheMiss(token, bool(may_be_filled), oldest_recorded)
        token, count, tokens, total, summary, gap, *turns = found
        return CachedSession(_turns(turns), int(count), int(tokens), int(total), json.loads(summary), gap, token)

    def _turns(self, parts: Sequence[str]) -> tuple[Turn, ...]:
        try:
            return _turns(parts)
        except ValueError as error:
            raise CacheUnavailableError(f"{self._calls.address} holds a turn that cannot be read") from error


def _turn_arguments(write: TurnWrite, context: CacheContext, member: str) -> tuple[Argument, ...]:
    """Return the arguments that lua/session_cache/adding.lua reads."""
    turn = write.turn
    return (
        *(context.epoch, _new_token(), write.operation_id),
        *(turn.id, turn_text(turn), turn.token_count, repr(float(turn.importance))),
        *_limits_and_lives(context),
        *(REMEMBERED_OPERATIONS, FULL_REPLIES_KEPT, MAX_RECORDED_TURNS),
        *(moment(context.now), _STATE_LIFE, _DEADLINES_KEPT, member),
    )


def _limits_and_lives(context: CacheContext) -> tuple[Argument, ...]:
    return (context.limits.tokens, context.limits.turns, *_LIVES[context.tier])


def _new_token() -> str:
    return uuid.uuid4().hex


def _turns(parts: Sequence[str]) -> tuple[Turn, ...]:
    return tuple([turn_from(turn_id, text) for turn_id, text in zip(parts[::2], parts[1::2], strict=True)])
