"""The outbox in Redis, beside the sessions: a turn is appended and queued in the same step.

What waits here survives what this Redis survives, and not more. One without persistence forgets it when it is started
again; ``appendfsync everysec`` may lose the last second in a power cut; a replica that is promoted lacks what had not
reached it. A policy such as ``allkeys-lru`` evicts it without a word: use ``noeviction``, or one that evicts only what
expires, because what waits here never does.

Each of the 64 buckets has its own outbox, so that a cluster shares the work. A session is leased, not a bucket: two
owners may be given turns of the same bucket. See lua/outbox/outbox.lua for how it lies in Redis.
"""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from heapq import nsmallest
from typing import Any, Self

from mcp_memory_server.adapters.redis.address import Client, redis_address
from mcp_memory_server.adapters.redis.calls import Calls
from mcp_memory_server.adapters.redis.keys import BUCKETS, ages_key, bucket_of, encoded, keys_of, outbox_keys, scope_of
from mcp_memory_server.adapters.redis.scripts import (
    CLAIM,
    CLAIMABLE,
    ENQUEUE,
    ERASE,
    PUT_OFF,
    RELEASE,
    REMOVE,
    WAITING,
    Argument,
    Request,
)
from mcp_memory_server.adapters.redis.sessions import DEADLINE, RedisSessions
from mcp_memory_server.adapters.redis.times import from_microseconds, microseconds
from mcp_memory_server.adapters.session_codec.turn_text import turn_from, turn_text
from mcp_memory_server.domain.kernel.item_checks import check_operation_id
from mcp_memory_server.domain.kernel.scope import Scope, check_id
from mcp_memory_server.domain.sessions.queued_turns import ClaimedTurn, QueuedTurn, QueueLength
from mcp_memory_server.errors import CacheUnavailableError

UNREADABLE_PAUSE = timedelta(hours=1)
"""A turn that cannot be read is left for a release that can; it is looked at, and reported, so often."""

LOOKED_AT = 16
"""Of each bucket so many turns are compared, and four times a fair share: in a long queue not all need to be."""

_MICROSECOND = timedelta(microseconds=1)
_SERVER_TIME = "-"
_PARTS_OF_A_CLAIM = 7
_PARTS_OF_A_TURN = 5

Now = Callable[[], datetime]

logger = logging.getLogger(__name__)


def open_redis_outbox(url: str, *, deadline: timedelta = DEADLINE, now: Now | None = None) -> "RedisOutbox":
    """Return the outbox in this Redis, with a client of its own. The address is that of a session cache.

    Raises:
        ConfigurationError: The address cannot be one.
    """
    return RedisOutbox(Calls(redis_address(url), deadline), now=now)


class RedisOutbox:
    """Implements the port. Claiming takes one round trip where nothing waits, and three where something does.

    Leases and pauses are measured with the server's clock, which all processes share, unless ``now`` is another one.
    """

    def __init__(self, calls: Calls, *, now: Now | None = None, closes_client: bool = True) -> None:
        self._calls = calls
        self._now = now
        self._closes_client = closes_client

    @classmethod
    def of(cls, sessions: RedisSessions) -> Self:
        """Return the outbox in which this session cache queues turns. It uses its client, and is closed with it."""
        return cls(sessions.calls, closes_client=False)

    async def add(self, queued: QueuedTurn) -> None:
        """See the port."""
        check_operation_id(queued.operation_id)
        keys, turn = keys_of(queued.scope, self._calls.address.space), queued.turn
        queued_at = microseconds(queued.queued_at)
        arguments = (keys.member, turn.id, queued.operation_id, queued_at, turn_text(turn), queued.counted_in)
        await self._calls.run(lambda client: ENQUEUE.run(client, (*keys.cached, *keys.outbox), *arguments))

    async def waiting(self, scope: Scope) -> Sequence[QueuedTurn]:
        """See the port; one round trip."""
        keys = keys_of(scope, self._calls.address.space)
        parts = await self._calls.run(lambda client: WAITING.run(client, keys.outbox, keys.member))
        try:
            return [_queued(scope, *turn) for turn in _groups(parts, _PARTS_OF_A_TURN)]
        except ValueError as error:
            raise CacheUnavailableError(f"{self._calls.address} holds a queued turn that cannot be read") from error

    async def claim(self, owner: str, *, lease: timedelta, most: int) -> Sequence[ClaimedTurn]:
        """See the port. A turn that cannot be read holds up its session."""
        arguments = (self._time(), owner, lease // _MICROSECOND)

        def claim(client: Client) -> list[Any]:
            shares = _shares(client, self._calls.address.space, arguments, most)
            return CLAIM.run_together(client, [Request(keys, (*arguments, share)) for keys, share in shares])

        answers = await self._calls.run(claim)
        found = [one for parts in answers for one in _groups(parts, _PARTS_OF_A_CLAIM)]
        claimed, unreadable = _read(sorted(found, key=lambda one: _number(one[0])))
        for receipt in unreadable:
            logger.warning("a turn in the outbox of %s cannot be read; it is kept", self._calls.address)
            await self.put_off(owner, receipt, UNREADABLE_PAUSE)
        return claimed

    async def remove(self, owner: str, receipts: Sequence[str]) -> None:  # noqa: ARG002
        """See the port. Whoever holds them: the table has them."""
        named, time = _by_bucket(receipts), self._time()
        requests = [Request(self._keys(bucket), (time, *named[bucket])) for bucket in named]
        await self._calls.run(lambda client: REMOVE.run_together(client, requests))

    async def put_off(self, owner: str, receipt: str, pause: timedelta) -> None:
        """See the port. Where somebody else holds the turn by now, nothing is changed."""
        keys = self._keys(bucket_of(_member(receipt)))
        arguments = (self._time(), owner, receipt, pause // _MICROSECOND)
        await self._calls.run(lambda client: PUT_OFF.run(client, keys, *arguments))

    async def release(self, owner: str) -> None:
        """See the port."""
        requests = [Request(self._keys(bucket), (self._time(), owner)) for bucket in range(BUCKETS)]
        await self._calls.run(lambda client: RELEASE.run_together(client, requests))

    async def erase(self, user_id: str) -> int:
        """See the port."""
        check_id("user_id", user_id)
        arguments = (self._time(), encoded(user_id))
        requests = [Request(self._keys(bucket), arguments) for bucket in range(BUCKETS)]
        return sum(await self._calls.run(lambda client: ERASE.run_together(client, requests)))

    async def length(self) -> QueueLength:
        """See the port."""

        def read(client: Client) -> list[Any]:
            together = client.pipeline(transaction=False)
            for bucket in range(BUCKETS):
                ages = ages_key(bucket, self._calls.address.space)
                together.zcard(ages)
                together.zrange(ages, 0, 0, withscores=True)
            return together.execute()

        found = await self._calls.run(read)
        oldest = min((score for first in found[1::2] for _, score in first), default=None)
        return QueueLength(sum(found[::2]), None if oldest is None else from_microseconds(oldest))

    async def close(self) -> None:
        """See the port."""
        if self._closes_client:
            await self._calls.close()

    def _keys(self, bucket: int) -> tuple[str, ...]:
        return outbox_keys(bucket, self._calls.address.space)

    def _time(self) -> str | int:
        return _SERVER_TIME if self._now is None else microseconds(self._now())


def _shares(client: Client, space: str, arguments: Sequence[Argument], most: int) -> list[tuple[tuple[str, ...], int]]:
    """Return where the oldest turns lie that the owner may be given, and how many of them in each place."""
    together = client.pipeline(transaction=False)
    for bucket in range(BUCKETS):
        together.zcard(ages_key(bucket, space))
    places = [outbox_keys(bucket, space) for bucket, waiting in enumerate(together.execute()) if waiting]
    enough = min(most, max(LOOKED_AT, 4 * most // (len(places) or 1)))
    answers = CLAIMABLE.run_together(client, [Request(keys, (*arguments, enough)) for keys in places])
    numbers = [(int(number), place) for place, found in enumerate(answers) for number in found]
    shares = Counter(place for _, place in nsmallest(most, numbers))
    return [(places[place], share) for place, share in shares.items()]


def _read(found: Sequence[Sequence[Any]]) -> tuple[list[ClaimedTurn], list[str]]:
    """Return the turns, without those of a session that come after one which cannot be read; and these."""
    claimed: list[ClaimedTurn] = []
    unreadable: dict[str, str] = {}
    for receipt, attempts, *turn in found:
        member = _member(receipt)
        if member not in unreadable:
            try:
                claimed.append(ClaimedTurn(_queued(scope_of(member), *turn), receipt, int(attempts)))
            except ValueError:
                unreadable[member] = receipt
    return claimed, list(unreadable.values())


def _by_bucket(receipts: Sequence[str]) -> dict[int, list[str]]:
    buckets: dict[int, list[str]] = {}
    for receipt in receipts:
        buckets.setdefault(bucket_of(_member(receipt)), []).append(receipt)
    return buckets


def _member(receipt: str) -> str:
    return receipt.rpartition(":")[0]


def _number(receipt: str) -> int:
    return int(receipt.rpartition(":")[2])


def _queued(scope: Scope, turn_id: str, operation_id: str, queued_at: str, text: str, counted_in: str) -> QueuedTurn:
    return QueuedTurn(scope, turn_from(turn_id, text), operation_id, from_microseconds(int(queued_at)), counted_in)


def _groups(parts: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    return (parts[start : start + size] for start in range(0, len(parts), size))
