"""Whatever owners do, in whatever order: nothing is lost, nothing overtakes, and a session has one owner."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.queued_turns import ClaimedTurn
from mcp_memory_server.ports.outbox import Outbox
from tests.clock import FakeClock
from tests.stores.outboxes import OutboxStore, claim, queued

EXAMPLES = 300
SECONDS = 10
OWNERS = ("one", "two")
SCOPES = (Scope("ana", "x"), Scope("ana", "y"), Scope("ben", "x"))

Step = Callable[["Play"], Awaitable[None]]


@dataclass
class Play:
    """An outbox, and what a plain model says about it."""

    outbox: Outbox
    clock: FakeClock
    added: int = 0
    waiting: dict[Scope, list[str]] = field(default_factory=lambda: {scope: [] for scope in SCOPES})
    held: dict[Scope, tuple[str, datetime]] = field(default_factory=dict[Scope, tuple[str, datetime]])
    paused: dict[str, datetime] = field(default_factory=dict[str, datetime])
    given: dict[str, Sequence[ClaimedTurn]] = field(default_factory=dict[str, Sequence[ClaimedTurn]])

    async def add(self, scope: Scope) -> None:
        self.added += 1
        await self.outbox.add(queued(scope=scope, operation=f"{self.added}"))
        self.waiting[scope].append(f"{self.added}")

    async def claim(self, owner: str, most: int) -> None:
        claimed = await claim(self.outbox, owner, most=most, lease=timedelta(seconds=SECONDS))
        now, given = self.clock(), dict[Scope, list[str]]()
        for one in claimed:
            given.setdefault(one.queued.scope, []).append(one.queued.operation_id)
        for scope, operations in given.items():
            holder, until = self.held.get(scope, (owner, now))
            assert holder == owner or until <= now, f"{owner} got what {holder} holds"
            assert operations == self.waiting[scope][: len(operations)], "a turn was overtaken"
            assert all(self.paused.get(one, now) <= now for one in operations), "a turn came before its time"
            self.held[scope] = (owner, now + timedelta(seconds=SECONDS))
        assert len(claimed) <= most
        self.given[owner] = claimed

    async def remove(self, owner: str, count: int) -> None:
        gone = list(self.given.get(owner, ()))[:count]
        await self.outbox.remove(owner, [one.receipt for one in gone])
        for one in gone:
            scope = one.queued.scope
            self.waiting[scope] = [each for each in self.waiting[scope] if each != one.queued.operation_id]
            if not self.waiting[scope]:
                self.held.pop(scope, None)

    async def put_off(self, owner: str, place: int) -> None:
        for one in list(self.given.get(owner, ()))[place : place + 1]:
            await self.outbox.put_off(owner, one.receipt, timedelta(seconds=SECONDS // 2))
            if self.held.get(one.queued.scope, ("", None))[0] == owner:
                self.paused[one.queued.operation_id] = self.clock() + timedelta(seconds=SECONDS // 2)

    async def release(self, owner: str) -> None:
        await self.outbox.release(owner)
        self.held = {scope: holder for scope, holder in self.held.items() if holder[0] != owner}

    async def erase(self, user: str) -> None:
        theirs = [scope for scope in SCOPES if scope.user_id == user]
        assert await self.outbox.erase(user) == sum(len(self.waiting[scope]) for scope in theirs)
        for scope in theirs:
            self.waiting[scope] = []
            self.held.pop(scope, None)

    async def advance(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))


scopes, owners = st.sampled_from(SCOPES), st.sampled_from(OWNERS)
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.one_of(
        st.builds(lambda scope: lambda play: play.add(scope), scopes),
        st.builds(lambda scope: lambda play: play.add(scope), scopes),
        st.builds(lambda owner: lambda play: play.claim(owner, 5), owners),
        st.builds(lambda owner, most: lambda play: play.claim(owner, most), owners, st.integers(1, 5)),
        st.builds(lambda owner, count: lambda play: play.remove(owner, count), owners, st.integers(1, 3)),
        st.builds(lambda owner, place: lambda play: play.put_off(owner, place), owners, st.integers(0, 1)),
        st.builds(lambda owner: lambda play: play.release(owner), owners),
        st.builds(lambda user: lambda play: play.erase(user), st.sampled_from(["ana", "ben"])),
        st.builds(lambda seconds: lambda play: play.advance(seconds), st.integers(1, 2 * SECONDS)),
    ),
    min_size=10,
    max_size=60,
)


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=steps)
def test_nothing_is_lost_or_overtaken_and_a_session_has_one_owner(outbox_store: OutboxStore, steps: list[Step]) -> None:
    asyncio.run(compare(outbox_store, steps))


async def compare(store: OutboxStore, steps: list[Step]) -> None:
    clock = FakeClock()
    play = Play(store.open(clock), clock)
    for user in ("ana", "ben"):
        await play.outbox.erase(user)
    for step in steps:
        await step(play)

    for scope in SCOPES:
        assert [one.operation_id for one in await play.outbox.waiting(scope)] == play.waiting[scope]
    await play.advance(3600)
    claimed = [one.queued.operation_id for one in await claim(play.outbox, "last")]
    assert claimed == sorted((one for line in play.waiting.values() for one in line), key=int)
    await play.outbox.close()
