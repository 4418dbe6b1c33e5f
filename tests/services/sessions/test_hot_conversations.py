"""Hot conversations: they spread over several partitions while they are written to, and are read as one."""

import asyncio
import random
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.pending_counts import COUNTED_AFTER_SECONDS
from mcp_memory_server.domain.sessions.turns import Role, Turn, View
from mcp_memory_server.errors import TableThrottledError, TableUnavailableError
from mcp_memory_server.schema.turn_records import TURNS, meta_key, session_partition
from mcp_memory_server.services.sessions.stored_turns import StoredTurns
from mcp_memory_server.services.sessions.table_states import TableStates
from mcp_memory_server.services.users.erasure import Erasure, OtherStores
from mcp_memory_server.wiring.searching import searching_over
from tests.clock import FakeClock
from tests.services.conftest import OpenTable
from tests.services.turns import CHAT, Faults, Moments, Speaker, put

pytestmark = pytest.mark.anyio


class SilentPartitions(Faults):
    """The real table, some partitions of which do not answer."""

    silent: frozenset[str] = frozenset()

    def __getattr__(self, name: str) -> Any:
        call = super().__getattr__(name)

        async def unless_silent(*arguments: Any, **named: Any) -> Any:
            if name == "query" and arguments[0] in self.silent:
                raise TableUnavailableError("no answer")
            return await call(*arguments, **named)

        return unless_silent


@pytest.fixture
async def table(path: Path, open_table: OpenTable) -> SilentPartitions:
    return SilentPartitions(await open_table(path))


@pytest.fixture
def moments() -> Moments:
    return Moments()


@pytest.fixture
def speaker(clock: FakeClock) -> Speaker:
    return Speaker(clock)


@pytest.fixture
def stored(table: Faults, clock: FakeClock, moments: Moments) -> StoredTurns:
    return StoredTurns(table.as_table, clock, monotonic=moments)


@pytest.fixture
def eager(table: Faults, clock: FakeClock, moments: Moments) -> StoredTurns:
    """A process that takes ten turns in a second for much."""
    return StoredTurns(table.as_table, clock, monotonic=moments, hot_rate=10)


@pytest.fixture
def other(table: Faults, clock: FakeClock, moments: Moments) -> StoredTurns:
    """The same table, as another process knows it."""
    return StoredTurns(table.as_table, clock, monotonic=moments)


async def say(stored: StoredTurns, speaker: Speaker, numbers: range) -> None:
    for number in numbers:
        await put(stored, speaker.says(f"Turn {number}"))


async def places(table: Faults, scope: Scope = CHAT) -> dict[int, int]:
    """Return how many turns lie in each partition."""
    found = {n: await table.query(session_partition(scope, n), prefix=TURNS, limit=None) for n in range(64)}
    return {number: len(page.items) for number, page in found.items() if page.items}


async def told(stored: StoredTurns, page_size: int) -> list[str]:
    page = await stored.last(CHAT, page_size, View.CONTEXT)
    turns = list(page.turns)
    while page.cursor is not None:
        page = await stored.before(CHAT, page.cursor, page_size, View.CONTEXT)
        turns = [*page.turns, *turns]
    return [turn.content for turn in turns]


def erasure_of(table: Faults, clock: FakeClock) -> Erasure:
    searching = searching_over(table.as_table, None, None, clock)
    stores = OtherStores(None, TableStates(table.as_table, clock, poll=timedelta(seconds=1)), ())
    return Erasure(table.as_table, searching.known, searching.indexes, searching.embeddings, lambda: stores, clock)


async def test_a_conversation_that_grows_over_partitions_is_read_as_one(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker
) -> None:
    for step, partitions in enumerate((1, 2, 4, 10)):
        assert await stored.raise_partitions(CHAT, partitions) == partitions
        await say(stored, speaker, range(step * 25, step * 25 + 25))

    assert len(await places(table)) > 5
    assert await told(other, 7) == [f"Turn {number}" for number in range(100)]
    page = await other.last(CHAT, 7, View.CONTEXT)
    assert (page.turn_count, page.token_count) == (100, 200)
    assert (page.partitions, page.answered) == (10, 10)


async def test_partitions_are_never_fewer_again_and_at_most_sixty_four(stored: StoredTurns, other: StoredTurns) -> None:
    assert await stored.raise_partitions(CHAT, 8) == 8
    assert await other.raise_partitions(CHAT, 2) == 8
    assert await other.raise_partitions(CHAT, 1000) == 64


async def test_a_process_that_knows_fewer_partitions_loses_nothing(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker
) -> None:
    await say(stored, speaker, range(5))
    await say(other, speaker, range(5, 10))
    await stored.raise_partitions(CHAT, 8)
    await say(other, speaker, range(10, 20))
    assert set(await places(table)) == {0}
    await say(stored, speaker, range(20, 40))

    assert await told(other, 6) == [f"Turn {number}" for number in range(40)]
    await say(other, speaker, range(40, 80))
    assert (await stored.last(CHAT, 3, View.CONTEXT)).turn_count == 80


async def test_nothing_is_written_to_a_partition_before_the_counters_tell_of_it(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    await say(stored, speaker, range(3))
    table.instead["update"] = TableUnavailableError("no answer")
    with pytest.raises(TableUnavailableError):
        await stored.raise_partitions(CHAT, 8)

    await say(stored, speaker, range(3, 30))

    assert set(await places(table)) == {0}


async def test_the_partitions_double_when_a_process_writes_too_fast_and_once_in_a_second_at_most(
    eager: StoredTurns, speaker: Speaker, moments: Moments
) -> None:
    async def partitions() -> int:
        return (await eager.last(CHAT, 1, View.CONTEXT)).partitions

    await say(eager, speaker, range(10))
    assert await partitions() == 1
    await say(eager, speaker, range(10, 60))
    assert await partitions() == 2
    moments.moment += 1.5
    await say(eager, speaker, range(60, 100))
    assert await partitions() == 4
    moments.moment += 1.5
    await say(eager, speaker, range(100, 130))
    assert await partitions() == 4


async def test_the_partitions_double_when_all_processes_together_write_too_fast(
    eager: StoredTurns, table: Faults, clock: FakeClock, speaker: Speaker, moments: Moments
) -> None:
    crowd = [StoredTurns(table.as_table, clock, monotonic=moments, hot_rate=10) for _ in range(40)]
    await say(eager, speaker, range(3))
    moments.moment += COUNTED_AFTER_SECONDS
    await eager.write_counts()
    for process in crowd:
        await say(process, speaker, range(9))
        await process.write_counts(all_of_them=True)
    await say(eager, speaker, range(3))
    moments.moment += COUNTED_AFTER_SECONDS
    assert (await eager.last(CHAT, 1, View.CONTEXT)).partitions == 1

    await eager.write_counts()

    assert (await eager.last(CHAT, 1, View.CONTEXT)).partitions == 2


async def test_a_table_that_refuses_because_of_too_much_gets_more_partitions(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    await say(stored, speaker, range(3))
    turn = speaker.says("Turn 3")
    table.instead["put"] = TableThrottledError("too much")

    with pytest.raises(TableThrottledError):
        await put(stored, turn)

    assert (await stored.last(CHAT, 1, View.CONTEXT)).partitions == 2
    await put(stored, turn)
    assert await told(stored, 3) == [f"Turn {number}" for number in range(4)]


async def test_a_turn_in_doubt_is_repeated_in_the_place_where_it_may_lie(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    await say(stored, speaker, range(3))
    turns = [speaker.says(f"Turn {number}") for number in range(3, 12)]
    for turn in turns:
        table.after["put"] = TableUnavailableError("no answer")
        with pytest.raises(TableUnavailableError):
            await put(stored, turn)
    await stored.raise_partitions(CHAT, 64)

    for turn in turns:
        await put(stored, turn)

    assert await places(table) == {0: 12}
    assert (await stored.last(CHAT, 3, View.CONTEXT)).turn_count == 12


async def test_a_turn_that_a_killed_process_stored_is_found_wherever_it_lies(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker, clock: FakeClock
) -> None:
    await say(other, speaker, range(2))
    turns = [speaker.says(f"Turn {number}") for number in range(2, 30)]
    await stored.raise_partitions(CHAT, 8)
    for turn in turns:
        await put(stored, turn)
    clock.advance(timedelta(seconds=2))

    for turn in turns:
        await put(other, turn)

    assert await told(other, 50) == [f"Turn {number}" for number in range(30)]
    assert sum((await places(table)).values()) == 30
    assert (await other.last(CHAT, 3, View.CONTEXT)).turn_count == 30


async def test_what_a_partition_holds_that_does_not_answer_is_missing_and_the_page_tells_so(
    table: SilentPartitions, stored: StoredTurns, speaker: Speaker
) -> None:
    await stored.raise_partitions(CHAT, 4)
    await say(stored, speaker, range(40))
    missing = (await places(table))[2]
    table.silent = frozenset({session_partition(CHAT, 2)})

    page = await stored.last(CHAT, 50, View.CONTEXT)
    older = await stored.before(CHAT, f"{TURNS}Z", 50, View.CONTEXT)

    assert (page.partitions, page.answered, len(page.turns)) == (4, 3, 40 - missing)
    assert (older.partitions, older.answered, len(older.turns)) == (4, 3, 40 - missing)
    with pytest.raises(TableUnavailableError):
        await stored.recent(CHAT, 5)


async def test_without_the_first_partition_nothing_can_be_told(
    table: SilentPartitions, stored: StoredTurns, speaker: Speaker
) -> None:
    await stored.raise_partitions(CHAT, 4)
    await say(stored, speaker, range(4))
    table.silent = frozenset({session_partition(CHAT)})

    with pytest.raises(TableUnavailableError):
        await stored.last(CHAT, 5, View.CONTEXT)
    with pytest.raises(TableUnavailableError):
        await stored.before(CHAT, f"{TURNS}Z", 5, View.CONTEXT)


async def test_a_long_turn_lies_with_its_parts_in_any_partition(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    await stored.raise_partitions(CHAT, 8)
    await say(stored, speaker, range(1))
    contents = [random.Random(seed).randbytes(350_000).hex() for seed in range(4)]
    for content in contents:
        await put(stored, Turn(speaker.says("").id, Role.TOOL, content))

    page = await stored.last(CHAT, 4, View.EVERYTHING)

    assert set(await places(table)) > {0}
    assert [turn.content for turn in page.turns] == contents


async def test_forgetting_a_user_takes_every_partition_along(
    table: Faults, stored: StoredTurns, speaker: Speaker, clock: FakeClock, path: Path
) -> None:
    bo = Scope("bo", "chat 1")
    await stored.raise_partitions(CHAT, 8)
    await say(stored, speaker, range(30))
    for seed in range(3):
        content = random.Random(seed).randbytes(350_000).hex()
        await put(stored, Turn(speaker.says("").id, Role.TOOL, f"xylophone {content}"))
    await put(stored, speaker.says("Of bo"), bo)
    assert len(await places(table)) > 3

    removed = (await erasure_of(table, clock).forget_user(Scope("anna"))).removed

    assert removed == 30 + 3 + 3 * 2 + 1 + 1  # short turns, long ones, their parts, the counters and the stamp
    assert await places(table) == {}
    assert (await stored.last(bo, 5, View.CONTEXT)).turn_count == 1
    assert b"xylophone" not in b"".join(file.read_bytes() for file in path.parent.glob("*"))


async def test_a_hot_session_that_was_erased_is_found_whole_when_it_goes_on(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker, clock: FakeClock
) -> None:
    await stored.raise_partitions(CHAT, 8)
    await say(stored, speaker, range(20))
    await erasure_of(table, clock).forget_user(Scope("anna"))

    await say(stored, speaker, range(10))
    await stored.write_counts(all_of_them=True)

    assert await told(other, 4) == [f"Turn {number}" for number in range(10)]
    assert (await other.last(CHAT, 4, View.CONTEXT)).turn_count == 10


async def test_many_writers_while_the_partitions_grow_lose_and_repeat_nothing(
    table: Faults, clock: FakeClock, moments: Moments, speaker: Speaker
) -> None:
    crowd = [StoredTurns(table.as_table, clock, monotonic=moments) for _ in range(6)]

    async def grow() -> None:
        for partitions in (2, 3, 5, 8):
            await crowd[0].raise_partitions(CHAT, partitions)
            await crowd[1].write_counts(all_of_them=True)

    turns = [speaker.says(f"Turn {number}") for number in range(120)]
    await asyncio.gather(grow(), *(put(crowd[number % 6], turn) for number, turn in enumerate(turns)))

    assert await told(crowd[5], 50) == [f"Turn {number}" for number in range(120)]
    assert (await crowd[5].last(CHAT, 2, View.CONTEXT)).turn_count == 120
    meta = await table.get(meta_key(CHAT))
    assert meta is not None
    assert meta.body["partitions"] == 8
