"""Conversations: every acknowledged turn is kept once, in order, and loaded with one query."""

import asyncio
import json
import random
import zlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mcp_memory_server.domain.conversations.transcripts import TranscribedTurn, transcript_from
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import LIFE, NewTurn, Role, View
from mcp_memory_server.errors import InvalidRequestError, TooLargeError
from mcp_memory_server.services.conversations.conversations import Conversations
from mcp_memory_server.wiring import SessionBackends, running
from tests.clock import FakeClock
from tests.services.conftest import OpenMemory, OpenTable
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio

CHAT = Scope("anna", "chat 1")

FULL = NewTurn(
    Role.ASSISTANT,
    "Here are two hotels.",
    speaker="Concierge",
    intent="find_hotel",
    agent="travel",
    tool_calls=({"name": "search", "input": {"city": "Rome", "stars": 4}},),
    token_count=7,
    importance=0.7,
    page_context={"url": "/hotels", "items": [1, 2.5, None]},
    response_id="resp-1",
    guardrail_flags=("pii",),
)


@pytest.fixture
async def watched(path: Path, open_table: OpenTable) -> WatchedTable:
    return WatchedTable(await open_table(path))


@pytest.fixture
async def service(watched: WatchedTable, clock: FakeClock) -> AsyncIterator[Conversations]:
    async with running(watched.as_table, SessionBackends(), now=clock) as memory:
        yield memory.conversations


@pytest.fixture
async def other(path: Path, open_table: OpenTable, clock: FakeClock) -> AsyncIterator[Conversations]:
    """The same conversations, as another process sees them."""
    async with running(await open_table(path), SessionBackends(), now=clock) as memory:
        yield memory.conversations


def said(text: str) -> NewTurn:
    return NewTurn(Role.USER, text)


async def test_a_turn_comes_back_with_everything_that_was_said_about_it(service: Conversations) -> None:
    kept = (await service.append(CHAT, FULL)).turn

    loaded = await service.load(CHAT, view=View.EVERYTHING)

    assert loaded.turns == (kept,)
    assert (kept.agent, kept.tool_calls, kept.page_context) == (FULL.agent, FULL.tool_calls, FULL.page_context)
    assert (loaded.turn_count, loaded.token_count, loaded.cursor) == (1, 7, None)


async def test_each_view_shows_what_its_reader_needs(service: Conversations) -> None:
    await service.append(CHAT, FULL)

    (context,) = (await service.load(CHAT, view=View.CONTEXT)).turns
    (summary,) = (await service.load(CHAT, view=View.SUMMARY)).turns

    assert (context.role, context.content, context.intent) == (FULL.role, FULL.content, FULL.intent)
    assert (context.tool_calls, context.page_context, context.agent) == ((), None, None)
    assert (summary.content, summary.intent) == (FULL.content, None)


async def test_one_query_loads_counters_and_last_turns_however_long_the_session_is(
    service: Conversations, watched: WatchedTable
) -> None:
    for number in range(60):
        await service.append(CHAT, said(f"Turn {number}"))
    watched.calls.clear()

    loaded = await service.load(CHAT, turns=15)

    assert watched.calls == {"query": 1}
    assert [turn.content for turn in loaded.turns] == [f"Turn {number}" for number in range(45, 60)]
    assert loaded.turn_count == 60


async def test_without_a_session_cache_an_append_is_one_small_read_and_one_write(
    service: Conversations, watched: WatchedTable
) -> None:
    await service.append(CHAT, said("Hello"))
    watched.calls.clear()

    await service.append(CHAT, said("Goodbye"))

    assert watched.calls == {"query": 1, "put": 1}


async def test_paging_back_finds_every_turn_once_while_new_ones_arrive(service: Conversations) -> None:
    for number in range(25):
        await service.append(CHAT, said(f"Turn {number}"))
    loaded = await service.load(CHAT, turns=10)

    found, cursor = list(loaded.turns), loaded.cursor
    while cursor is not None:
        await service.append(CHAT, said("Something new"))
        older = await service.before(CHAT, cursor, turns=7)
        found, cursor = [*older.turns, *found], older.cursor

    assert [turn.content for turn in found] == [f"Turn {number}" for number in range(25)]


@pytest.mark.parametrize("size", [900, 5_000, 400_000, 1_000_000, 4 * 1024 * 1024])
async def test_a_turn_of_any_size_comes_back_as_it_was(service: Conversations, size: int) -> None:
    content = random.Random(size).randbytes(size // 2).hex()

    kept = await service.append(CHAT, NewTurn(Role.TOOL, content, token_count=1))

    (loaded,) = (await service.load(CHAT)).turns
    assert zlib.crc32(loaded.content.encode()) == zlib.crc32(content.encode())
    assert loaded.id == kept.turn.id


async def test_the_same_operation_twice_is_one_turn_and_counts_once(
    service: Conversations, other: Conversations
) -> None:
    first = await service.append(CHAT, said("Book it"), operation_id="message-7")
    await service.append(CHAT, said("Thanks"))

    again = await other.append(CHAT, said("Book it"), operation_id="message-7")

    loaded = await service.load(CHAT)
    assert (again.turn.id, again.repeated) == (first.turn.id, True)
    assert [turn.content for turn in loaded.turns] == ["Book it", "Thanks"]
    assert loaded.turn_count == 2


async def test_turns_of_two_processes_in_one_millisecond_are_all_kept_in_the_order_of_acknowledgement(
    service: Conversations, other: Conversations, clock: FakeClock
) -> None:
    for number in range(30):
        await (service if number % 2 else other).append(CHAT, said(f"Turn {number}"))
        clock.advance(-timedelta(seconds=5))

    turns = (await service.load(CHAT, turns=100)).turns
    assert [turn.content for turn in turns] == [f"Turn {number}" for number in range(30)]


async def test_two_hundred_parallel_appends_are_all_kept_and_counted(service: Conversations) -> None:
    await asyncio.gather(*(service.append(CHAT, NewTurn(Role.USER, f"{n}", token_count=2)) for n in range(200)))

    loaded = await service.load(CHAT, turns=300)
    assert sorted(int(turn.content) for turn in loaded.turns) == list(range(200))
    assert (loaded.turn_count, loaded.token_count) == (200, 400)


async def test_turns_are_gone_after_ninety_days(service: Conversations, clock: FakeClock) -> None:
    await service.append(CHAT, said("Hello"))

    clock.advance(LIFE)

    loaded = await service.load(CHAT)
    assert (loaded.turns, loaded.turn_count) == ((), 0)


async def test_knowing_a_session_id_gives_nobody_its_turns(service: Conversations) -> None:
    await service.append(Scope("anna", "a#b"), said("A secret"))

    for stranger in (Scope("bo", "a#b"), Scope("anna#a", "b"), Scope("anna", "a%23b"), Scope("anna", "a")):
        assert (await service.load(stranger)).turns == ()


async def test_what_cannot_be_a_turn_is_refused(service: Conversations) -> None:
    with pytest.raises(InvalidRequestError, match="session_id"):
        await service.append(Scope("anna"), said("Hello"))
    with pytest.raises(InvalidRequestError, match="content or tool calls"):
        NewTurn(Role.USER, "")
    with pytest.raises(TooLargeError, match="content"):
        NewTurn(Role.USER, "x" * (4 * 1024 * 1024 + 1))
    with pytest.raises(InvalidRequestError, match="importance"):
        NewTurn(Role.USER, "x", importance=2)
    with pytest.raises(InvalidRequestError, match="turns"):
        await service.load(CHAT, turns=0)
    with pytest.raises(InvalidRequestError, match="cursor"):
        await service.before(CHAT, "somewhere")


async def test_forgetting_a_user_takes_every_conversation_along(open_file: OpenMemory, path: Path) -> None:
    memory = await open_file(path)
    for number in range(3):
        await memory.conversations.append(Scope("anna", f"chat {number}"), said("A secret word: xylophone"))
    await memory.conversations.append(CHAT, NewTurn(Role.TOOL, random.Random(1).randbytes(400_000).hex()))
    await memory.conversations.append(Scope("bo", "chat 1"), said("Of bo"))

    removed = (await memory.erasure.forget_user(Scope("anna"))).removed

    assert removed == 3 + 3 + 3 + 1 + 2 + 1  # turns, counters, deadlines, the long turn and its parts, the user version
    assert (await memory.conversations.load(CHAT)).turns == ()
    assert [turn.content for turn in (await memory.conversations.load(Scope("bo", "chat 1"))).turns] == ["Of bo"]
    assert b"xylophone" not in b"".join(file.read_bytes() for file in path.parent.glob("*"))


async def test_forgetting_a_user_ends_although_the_index_lists_an_expired_session(
    clock: FakeClock, open_file: OpenMemory, path: Path
) -> None:
    memory = await open_file(path)
    await memory.conversations.append(CHAT, said("Long ago"))
    clock.advance(LIFE)
    await memory.conversations.append(Scope("anna", "chat 2"), said("Today"))

    removed = (await memory.erasure.forget_user(Scope("anna"))).removed

    assert removed == 4  # a turn, its counters and deadline, the user version


async def test_a_turn_may_consist_of_tool_calls_alone(service: Conversations) -> None:
    await service.append(CHAT, NewTurn(Role.ASSISTANT, "", tool_calls=({"name": "search"},)))

    (turn,) = (await service.load(CHAT, view=View.EVERYTHING)).turns
    assert (turn.content, turn.tool_calls) == ("", ({"name": "search"},))


def old_turns(count: int) -> list[TranscribedTurn]:
    lines = (
        {"session": "old", "id": f"D{number}", "speaker": "Gina", "date": "2023-05-08T13:56", "text": f"Turn {number}"}
        for number in range(count)
    )
    return transcript_from(json.dumps(line) for line in lines)


async def test_an_old_conversation_is_brought_along_with_its_times_and_ids(service: Conversations) -> None:
    done = await service.transcribe(Scope("anna"), old_turns(3))

    loaded = await service.load(Scope("anna", "old"), view=View.EVERYTHING)
    assert (done.added, done.known, done.sessions) == (3, 0, 1)
    assert [(turn.source_id, turn.speaker) for turn in loaded.turns] == [("D0", "Gina"), ("D1", "Gina"), ("D2", "Gina")]
    assert {turn.at for turn in loaded.turns} == {datetime(2023, 5, 8, 13, 56, tzinfo=UTC)}


async def test_bringing_a_long_conversation_along_twice_keeps_it_once(
    service: Conversations, other: Conversations
) -> None:
    await service.transcribe(Scope("anna"), old_turns(70))

    again = await other.transcribe(Scope("anna"), old_turns(80))

    loaded = await other.load(Scope("anna", "old"), turns=100)
    assert (again.added, again.known) == (10, 70)
    assert [turn.content for turn in loaded.turns] == [f"Turn {number}" for number in range(80)]


async def test_a_turn_from_the_future_is_refused_and_a_fast_clock_does_not_date_later_turns(
    service: Conversations, clock: FakeClock
) -> None:
    with pytest.raises(InvalidRequestError, match="future"):
        await service.append(CHAT, NewTurn(Role.USER, "in 9000", said_at=datetime(9000, 1, 1, tzinfo=UTC)))
    await service.append(CHAT, NewTurn(Role.USER, "fast clock", said_at=clock() + timedelta(minutes=40)))
    clock.advance(timedelta(minutes=1))
    later = (await service.append(CHAT, said("later"))).turn

    assert abs(later.at - clock()) < timedelta(seconds=1)


async def test_a_turn_from_before_the_first_id_is_refused(service: Conversations) -> None:
    with pytest.raises(InvalidRequestError, match="1970"):
        await service.append(CHAT, NewTurn(Role.USER, "in 1960", said_at=datetime(1960, 1, 1, tzinfo=UTC)))


async def test_the_same_operation_many_times_at_once_is_one_turn(service: Conversations) -> None:
    sent = [service.append(CHAT, said("once"), operation_id="one operation") for _ in range(20)]

    turns = {appended.turn.id for appended in await asyncio.gather(*sent)}

    loaded = await service.load(CHAT)
    assert (len(turns), loaded.turn_count, len(loaded.turns)) == (1, 1, 1)


async def test_a_repetition_goes_on_when_the_call_that_it_waits_for_is_cancelled(service: Conversations) -> None:
    first = asyncio.create_task(service.append(CHAT, said("once"), operation_id="one operation"))
    second = asyncio.create_task(service.append(CHAT, said("once"), operation_id="one operation"))
    await asyncio.sleep(0)
    first.cancel()

    assert (await second).turn.content == "once"
    assert (await service.load(CHAT)).turn_count == 1
