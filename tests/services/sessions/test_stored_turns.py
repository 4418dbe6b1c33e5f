"""Turns in the table: each is kept once, and the count is exact although counting is put off."""

import asyncio
import threading
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server.domain.kernel.items import Key, Put, Update
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.pending_counts import COUNTED_AFTER_SECONDS
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import LIFE, Role, Turn, View
from mcp_memory_server.errors import ConflictError, InvalidRequestError, TableUnavailableError
from mcp_memory_server.schema.turn_records import meta_key, session_partition
from mcp_memory_server.services.sessions.stored_turns import StoredTurns
from tests.clock import FakeClock
from tests.services.conftest import OpenTable
from tests.services.turns import CHAT, Faults, Moments, Speaker, put

pytestmark = pytest.mark.anyio

HOUR = timedelta(hours=1)
LOST = TableUnavailableError("no answer")


@pytest.fixture
async def table(path: Path, open_table: OpenTable) -> Faults:
    return Faults(await open_table(path))


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
def other(table: Faults, clock: FakeClock, moments: Moments) -> StoredTurns:
    """The same table, as another process knows it."""
    return StoredTurns(table.as_table, clock, monotonic=moments)


async def count(stored: StoredTurns, turns: int = 20) -> tuple[int, int]:
    page = await stored.last(CHAT, turns, View.CONTEXT)
    return page.turn_count, page.token_count


async def marks(table: Faults) -> object:
    meta = await table.get(meta_key(CHAT))
    return meta and meta.body.get("upto")


async def test_a_burst_of_a_hundred_turns_costs_two_writes_of_the_counters(
    table: Faults, stored: StoredTurns, speaker: Speaker, moments: Moments
) -> None:
    for number in range(100):
        await put(stored, speaker.says(f"Turn {number}"))
        await stored.write_counts()  # nothing is due yet
    moments.moment += COUNTED_AFTER_SECONDS
    await stored.write_counts()

    assert table.meta_writes == 2
    assert table.calls["put"] == 99
    assert await count(stored) == (100, 200)
    assert not stored.uncounted()


async def test_a_hundred_parallel_turns_cost_two_writes_of_the_counters(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    await asyncio.gather(*[put(stored, speaker.says(f"Turn {number}")) for number in range(100)])
    await stored.write_counts(all_of_them=True)

    assert table.meta_writes == 2
    assert await count(stored, turns=5) == (100, 200)


async def test_a_hundred_waiting_turns_are_counted_at_once(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    for _ in range(101):
        await put(stored, speaker.says("Hello"))
    await stored.write_counts()

    assert table.meta_writes == 2
    assert not stored.uncounted()


async def test_one_query_tells_the_exact_count_while_turns_wait_to_be_counted(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker
) -> None:
    for _ in range(15):
        await put(stored, speaker.says("Hello"))
    table.calls.clear()

    assert await count(other) == (15, 30)
    assert table.calls == {"query": 1}


async def test_one_query_is_enough_for_the_process_that_wrote_the_turns(
    table: Faults, stored: StoredTurns, speaker: Speaker, moments: Moments
) -> None:
    for number in range(60):
        await put(stored, speaker.says("Hello"))
        if number == 30:
            moments.moment += COUNTED_AFTER_SECONDS
            await stored.write_counts()
    table.calls.clear()

    assert await count(stored, turns=10) == (60, 120)
    assert table.calls == {"query": 1}


async def test_turns_that_wait_to_be_counted_before_the_page_are_counted_by_the_reader(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker
) -> None:
    for _ in range(60):
        await put(stored, speaker.says("Hello"))
    table.calls.clear()

    assert await count(other, turns=10) == (60, 120)
    assert table.calls == {"query": 2}


async def test_one_query_is_enough_again_when_everything_is_counted(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker
) -> None:
    for _ in range(60):
        await put(stored, speaker.says("Hello"))
    await stored.write_counts(all_of_them=True)
    table.calls.clear()

    assert await count(other, turns=10) == (60, 120)
    assert table.calls == {"query": 1}
    assert await marks(table) == {}


async def test_what_a_killed_process_did_not_count_is_counted_by_readers(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker
) -> None:
    for _ in range(30):
        await put(stored, speaker.says("Hello"))

    del stored
    for _ in range(3):
        await put(other, speaker.says("Still here?"))
    await other.write_counts(all_of_them=True)

    assert await count(other, turns=5) == (33, 66)


async def test_the_mark_of_a_killed_process_is_taken_away_after_an_hour(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker, clock: FakeClock
) -> None:
    for _ in range(30):
        await put(stored, speaker.says("Hello"))
    clock.advance(HOUR)
    await put(other, speaker.says("Still here?"))
    await put(other, speaker.says("No."))

    await other.write_counts(all_of_them=True)

    assert await marks(table) == {}
    assert await count(other, turns=5) == (32, 64)


async def test_a_process_whose_mark_was_taken_away_makes_a_new_one(
    stored: StoredTurns, other: StoredTurns, speaker: Speaker, clock: FakeClock
) -> None:
    for _ in range(3):
        await put(stored, speaker.says("Hello"))
    clock.advance(HOUR)
    for _ in range(2):
        await put(other, speaker.says("Anyone?"))
    await other.write_counts(all_of_them=True)

    for number in (6, 7):
        await put(stored, speaker.says("Yes"))
        assert await count(other, turns=1) == (number, 2 * number)
    await stored.write_counts(all_of_them=True)

    assert await count(other) == (7, 14)


async def test_the_counters_are_right_when_their_write_gets_no_answer(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    for _ in range(5):
        await put(stored, speaker.says("Hello"))
    for fault in (table.instead, table.after):
        fault["update"] = LOST
        with pytest.raises(TableUnavailableError):
            await stored.write_counts(all_of_them=True)
        assert await count(stored) == (5, 10)
    await put(stored, speaker.says("And on"))

    await stored.write_counts(all_of_them=True)

    assert await count(stored) == (6, 12)
    assert not stored.uncounted()


@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("nth", [1, 2, 3])
async def test_a_turn_whose_write_gets_no_answer_is_kept_and_counted_once_when_it_is_repeated(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker, nth: int, *, happened: bool
) -> None:
    turns = [speaker.says(f"Turn {number}") for number in range(4)]
    for number, turn in enumerate(turns, start=1):
        if number == nth:
            faults = table.after if happened else table.instead
            faults["write" if number == 1 else "put"] = LOST
            with pytest.raises(TableUnavailableError):
                await put(stored, turn)
        else:
            await put(stored, turn)
    await stored.write_counts(all_of_them=True)
    assert (await count(stored))[0] == (4 if happened else 3)

    for process in (other, stored, other):
        await put(process, turns[nth - 1])
        await process.write_counts(all_of_them=True)

    assert await count(other) == (4, 8)
    page = await stored.last(CHAT, 10, View.EVERYTHING)
    assert [turn.content for turn in page.turns] == [f"Turn {number}" for number in range(4)]


async def test_a_turn_in_doubt_that_nobody_repeats_is_settled_later(
    table: Faults, stored: StoredTurns, speaker: Speaker, moments: Moments
) -> None:
    await put(stored, speaker.says("Hello"))
    table.after["put"] = LOST
    with pytest.raises(TableUnavailableError):
        await put(stored, speaker.says("Lost"))
    await put(stored, speaker.says("And on"))
    moments.moment += 31

    await stored.write_counts(all_of_them=True)

    assert await marks(table) == {}
    assert await count(stored, turns=1) == (3, 6)


async def test_a_turn_that_arrives_late_is_counted_with_its_own_write(stored: StoredTurns, speaker: Speaker) -> None:
    first, late, *rest = [speaker.says(f"Turn {number}") for number in range(6)]
    for turn in (first, *rest):
        await put(stored, turn)
    await stored.write_counts(all_of_them=True)
    await put(stored, speaker.says("Turn 6"))

    await put(stored, late)

    assert await count(stored, turns=1) == (7, 14)
    page = await stored.last(CHAT, 10, View.CONTEXT)
    assert [turn.content for turn in page.turns] == [f"Turn {number}" for number in range(7)]


async def test_a_turn_in_flight_is_not_passed_over_by_the_counters(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker
) -> None:
    first, slow, quick = (speaker.says(text) for text in ("First", "Slow", "Quick"))
    await put(stored, first)

    async def meanwhile() -> None:
        await put(stored, quick)
        await stored.write_counts(all_of_them=True)
        assert await count(other) == (2, 4)

    table.before["put"] = meanwhile
    await put(stored, slow)

    assert await count(other) == (3, 6)
    await stored.write_counts(all_of_them=True)
    assert await count(other, turns=1) == (3, 6)


async def test_another_operation_with_the_same_id_is_refused(
    stored: StoredTurns, other: StoredTurns, speaker: Speaker
) -> None:
    turns = [speaker.says("Hello"), speaker.says("Again")]
    for turn in turns:
        await put(stored, turn)

    for process in (stored, other):
        for turn in turns:
            with pytest.raises(ConflictError):
                await process.put(TurnWrite(CHAT, turn, "another operation"))

    assert await count(stored) == (2, 4)


async def test_two_processes_and_a_reader_agree_at_every_moment(
    stored: StoredTurns, other: StoredTurns, speaker: Speaker
) -> None:
    for number in range(40):
        await put(stored if number % 3 else other, speaker.says(f"Turn {number}"))
        if number % 7 == 0:
            await (stored if number % 2 else other).write_counts(all_of_them=True)
        assert await count(stored, turns=4) == (number + 1, 2 * number + 2)


async def test_turns_of_earlier_versions_were_counted_with_their_own_write(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    old = speaker.says("Long ago")
    row = Put(Key(session_partition(CHAT), f"TURN#{old.id}"), {"role": "user", "content": "Hi", "token_count": 2}, 0)
    await table.write([row, Update(meta_key(CHAT), add={"turns": 1, "tokens": 2})], operation_id="an old operation")

    await put(stored, speaker.says("Today"))
    await put(stored, speaker.says("Today too"))

    page = await stored.last(CHAT, 10, View.CONTEXT)
    assert (page.turn_count, page.operations["an old operation"]) == (3, old.id)
    await stored.put(TurnWrite(CHAT, old, "an old operation"))
    assert await count(stored) == (3, 6)


async def test_a_session_that_was_erased_while_it_is_written_to_is_counted_from_the_start(
    table: Faults, stored: StoredTurns, other: StoredTurns, speaker: Speaker
) -> None:
    for _ in range(5):
        await put(stored, speaker.says("A secret"))
    found = await table.query(session_partition(CHAT), limit=None)
    await table.delete_many([item.key for item in found.items])

    await put(stored, speaker.says("Who am I?"))
    assert await count(other) == (1, 2)
    await stored.write_counts(all_of_them=True)

    assert await count(other) == (1, 2)
    assert (await table.find("SESSIONS#anna", limit=10)).keys == (meta_key(CHAT),)


async def test_a_process_that_reads_an_erased_session_begins_it_anew(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    await put(stored, speaker.says("A secret"))
    await table.delete_many([meta_key(CHAT), Key(session_partition(CHAT), f"TURN#{speaker.last}")])
    assert await count(stored) == (0, 0)

    await put(stored, speaker.says("Who am I?"))

    assert (await table.find("SESSIONS#anna", limit=10)).keys == (meta_key(CHAT),)


async def test_a_session_that_is_quiet_leaves_no_mark(
    table: Faults, stored: StoredTurns, speaker: Speaker, moments: Moments
) -> None:
    await put(stored, speaker.says("Hello"))
    moments.moment += 300

    await stored.write_counts()

    assert await marks(table) == {}


async def test_it_is_told_when_something_has_to_be_counted(
    table: Faults, clock: FakeClock, moments: Moments, speaker: Speaker
) -> None:
    woken: list[None] = []
    stored = StoredTurns(table.as_table, clock, monotonic=moments, wake=lambda: woken.append(None))
    await put(stored, speaker.says("Hello"))
    assert (woken, stored.uncounted()) == ([None], False)  # a watermark has to be removed again

    await put(stored, speaker.says("And on"))

    assert (woken, stored.uncounted()) == ([None, None], True)


async def test_counters_may_be_written_from_another_thread(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    for _ in range(3):
        await put(stored, speaker.says("Hello"))
    thread = threading.Thread(target=lambda: asyncio.run(stored.write_counts(all_of_them=True)))

    thread.start()
    await asyncio.gather(*(put(stored, speaker.says("More")) for _ in range(20)))
    await asyncio.to_thread(thread.join)

    assert await count(stored, turns=2) == (23, 46)


async def test_a_cursor_leads_back_through_every_turn(stored: StoredTurns, speaker: Speaker) -> None:
    for number in range(12):
        await put(stored, speaker.says(f"Turn {number}"))
    page = await stored.last(CHAT, 5, View.CONTEXT)

    older = await stored.before(CHAT, page.cursor or "", 5, View.CONTEXT)
    oldest = await stored.before(CHAT, older.cursor or "", 5, View.CONTEXT)

    told = [turn.content for turn in (*oldest.turns, *older.turns, *page.turns)]
    assert told == [f"Turn {number}" for number in range(12)]
    assert oldest.cursor is None
    with pytest.raises(InvalidRequestError, match="cursor"):
        await stored.before(CHAT, "somewhere", 5, View.CONTEXT)


async def test_the_last_operations_are_told_with_the_ids_of_their_turns(stored: StoredTurns, speaker: Speaker) -> None:
    turns = [speaker.says(f"Turn {number}") for number in range(4)]
    for turn in turns:
        await put(stored, turn)

    assert await stored.recent(CHAT, 2) == {f"op of {turn.id}": turn.id for turn in turns[2:]}
    assert (await stored.last(CHAT, 3, View.SUMMARY)).operations == {f"op of {turn.id}": turn.id for turn in turns[1:]}


async def test_a_summary_and_the_end_of_a_session_are_told_with_its_turns(
    table: Faults, stored: StoredTurns, speaker: Speaker, clock: FakeClock
) -> None:
    await table.put(Put(Key(session_partition(CHAT), "~SUMMARY"), {"text": "Small talk."}))
    await put(stored, speaker.says("Hello"))
    await stored.end(CHAT, clock(), "the end")
    await stored.end(CHAT, clock(), "the end")

    page = await stored.last(CHAT, 5, View.CONTEXT)

    assert (page.summary, page.ended_at, page.turn_count) == ("Small talk.", clock(), 1)


async def test_a_session_that_holds_nothing_can_be_ended(stored: StoredTurns, clock: FakeClock) -> None:
    await stored.end(CHAT, clock(), "the end")

    page = await stored.last(CHAT, 5, View.CONTEXT)
    assert (page.turns, page.turn_count, page.ended_at) == ((), 0, clock())


async def test_the_counters_live_as_long_as_the_last_turn(
    stored: StoredTurns, speaker: Speaker, clock: FakeClock
) -> None:
    for _ in range(3):
        await put(stored, speaker.says("Hello"))
    clock.advance(LIFE - timedelta(days=1))
    await put(stored, speaker.says("Long time no see"))
    assert (await count(stored))[0] == 4

    clock.advance(LIFE)

    assert await count(stored) == (0, 0)


async def test_a_view_tells_no_more_than_it_shows(stored: StoredTurns, speaker: Speaker) -> None:
    await put(stored, replace(speaker.says("Hello"), intent="greet", agent="shop"))

    (context,) = (await stored.last(CHAT, 5, View.CONTEXT)).turns
    (summary,) = (await stored.last(CHAT, 5, View.SUMMARY)).turns

    assert (context.intent, context.agent) == ("greet", None)
    assert (summary.content, summary.intent) == ("Hello", None)


async def test_a_turn_with_a_time_of_its_own_is_put_once(
    stored: StoredTurns, other: StoredTurns, clock: FakeClock
) -> None:
    turn = Turn(ulid_after(None, clock() - timedelta(days=7)), Role.USER, "Imported", token_count=2)

    for process in (stored, other, stored):
        await put(process, turn)

    assert await count(other) == (1, 2)


async def test_something_else_that_changes_the_counters_is_no_obstacle(
    table: Faults, stored: StoredTurns, speaker: Speaker
) -> None:
    async def meanwhile() -> None:
        await table.update(Update(meta_key(CHAT), set={"note": "from a later version"}))

    for _ in range(3):
        table.before["write"] = meanwhile
        await put(stored, speaker.says("Hello"))
    table.before["update"] = meanwhile
    await stored.write_counts(all_of_them=True)

    meta = await table.get(meta_key(CHAT))
    assert meta is not None
    assert meta.body["note"] == "from a later version"
    assert await count(stored) == (3, 6)
