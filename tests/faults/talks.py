"""Several memories that talk in one session after the other, while something happens to what they share."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from mcp_memory_server import Memory, Scope, Settings, open_memory
from mcp_memory_server.ports.metric_catalogue import SESSION_CACHE_READS, Metric
from mcp_memory_server.services.sessions.session_reader import LoadedSession
from tests.faults.conversations import USER, Account, missing_from, until

TURNS_EACH = 8
"""Of two writers: what they say in a session stays at hand, so that a load has to have all of it."""

Happening = Callable[[], Awaitable[None]]


class Reads:
    """Counts the loads that a copy answered: a run in which none was ever served shows nothing."""

    def __init__(self) -> None:
        self.hits = 0

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        if metric is SESSION_CACHE_READS and labels["result"] == "hit":
            self.hits += int(value)


@dataclass(frozen=True)
class Partner:
    """A memory with connections of its own, and how its loads were answered."""

    name: str
    memory: Memory
    reads: Reads


@dataclass
class Talk:
    """Two who write and read: after each acknowledgement the next complete load by anyone has the turn."""

    partners: Sequence[Partner]
    account: Account
    pending: int = 0
    loads: int = 0
    wrong: list[str] = field(default_factory=list[str])
    _happening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def session(self, number: int, happenings: Mapping[int, Happening]) -> None:
        """Hold one session, from copy to copy. Each happening comes to pass after so many acknowledged turns."""
        scope = Scope(USER, f"session {number}")
        await self.until_copies_are_served(scope)
        reading = asyncio.create_task(self._read_on(scope))
        in_order = deque(happenings[moment] for moment in sorted(happenings))
        try:
            async with asyncio.TaskGroup() as writers:
                for partner in self.partners:
                    writers.create_task(self._write(scope, partner, happenings.keys(), in_order))
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        await self.until_copies_are_served(scope)
        self._count(scope, await self.partners[0].memory.conversations.load(scope))

    async def until_copies_are_served(self, scope: Scope) -> None:
        """Load until everybody was answered from a copy. It has every turn, as each answer before it had."""
        for partner in self.partners:
            hits = partner.reads.hits

            async def is_served(partner: Partner = partner, hits: int = hits) -> bool:
                await self.load(scope, partner)
                return partner.reads.hits > hits

            await until(is_served, f"{partner.name} is served a copy")

    @property
    def hits(self) -> int:
        return sum(partner.reads.hits for partner in self.partners)

    async def load(self, scope: Scope, partner: Partner) -> None:
        """Load the session as it is at hand, and write down what is missing of what was acknowledged before."""
        acknowledged = list(self.account.acknowledged.get(scope, ()))
        loaded = await partner.memory.conversations.load(scope)
        self.loads += 1
        if missing := missing_from(loaded, acknowledged):
            self.wrong.append(f"{partner.name} missed {sorted(missing)}, {len(acknowledged)} were acknowledged")
        contents = [turn.content for turn in loaded.turns]
        if len(contents) > len(set(contents)):
            self.wrong.append(f"{partner.name} was told a turn twice: {contents}")

    def _count(self, scope: Scope, loaded: LoadedSession) -> None:
        said = len(self.account.acknowledged[scope])
        if loaded.turn_count != said:
            self.wrong.append(f"{loaded.turn_count} turns were counted at hand, {said} were acknowledged")

    async def _write(
        self, scope: Scope, partner: Partner, moments: Collection[int], happenings: deque[Happening]
    ) -> None:
        for number in range(TURNS_EACH):
            content = f"{partner.name} {scope.session_id} {number}"
            self.pending += (await self.account.append(partner.memory, scope, content)).pending
            is_time = len(self.account.acknowledged[scope]) in moments
            await self.load(scope, self.account.chance.choice(self.partners))
            if is_time:
                async with self._happening:  # in their order, whichever writer is first: what fails heals afterwards
                    await happenings.popleft()()

    async def _read_on(self, scope: Scope) -> None:
        while True:
            await self.load(scope, self.account.chance.choice(self.partners))
            await asyncio.sleep(0.005)  # the writers need the machine too


@asynccontextmanager
async def talking(*settings: Settings) -> AsyncGenerator[Talk]:
    """Open several memories, and let them talk."""
    async with AsyncExitStack() as stack:
        partners: list[Partner] = []
        for place, one in enumerate(settings):
            reads = Reads()
            memory = await stack.enter_async_context(open_memory(one, metrics=reads))
            partners.append(Partner(f"partner{place}", memory, reads))
        yield Talk(partners, Account())
