"""Everything of a user moves from one engine to another and back, and every answer stays the same."""

import json
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from mcp_memory_server.domain.conversations.tool_log import ToolStatus
from mcp_memory_server.domain.facts.fact import Source, Statement
from mcp_memory_server.domain.facts.notes import NoteKind
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import NewTurn, Role, View
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory
from mcp_memory_server.services.users.archive import Imported
from mcp_memory_server.wiring import running
from tests.clock import FakeClock
from tests.stores.tables import Address, DynamoDbTables, SqliteAddress

pytestmark = pytest.mark.anyio

ANA, BEN = Scope("ana"), Scope("ben#/ø")
PAGES = random.Random(7).randbytes(400_000).hex()
"""Too long for one item, however it is compressed."""
SUPPORT, LONG = "support #1", "long"
SAID = [
    (Role.USER, "My order 4711 has not arrived."),
    (Role.ASSISTANT, "It left the warehouse on Monday."),
    (Role.TOOL, "tracking: in transit"),
    (Role.USER, "Please ship to Lisbon next time."),
]
QUESTIONS = (
    "Where does Ana live?",
    "What about the order 4711?",
    "When is the trip to Japan?",
    "Who likes brief answers?",
)

Open = Callable[[Address], Awaitable[Memory]]


@pytest.fixture
async def opened(clock: FakeClock) -> AsyncIterator[Open]:
    async with AsyncExitStack() as stack:

        async def open_one(address: Address) -> Memory:
            table = await address.open(clock)
            stack.push_async_callback(table.close)
            return await stack.enter_async_context(running(table, now=clock))

        yield open_one


async def fill(memory: Memory, owner: Scope, clock: FakeClock) -> None:
    """Use everything that the memory offers."""
    for text in ("Ana lives in Lisbon.", "Ana lives in Porto."):
        await memory.facts.learn(owner, Statement(text, topic="home/city", session_id=SUPPORT))
        clock.advance(timedelta(hours=1))
    await memory.facts.learn(owner, Statement("Ana goes to Japan in May.", source=Source.INFERRED))
    secret = await memory.facts.learn(owner, Statement("Ana has a secret."))
    await memory.erasure.forget(owner, secret.fact.id)
    await memory.preferences.set(owner, "answers", "brief")
    await memory.notes.add(owner, NoteKind.FEEDBACK, "Too long.")
    support = Scope(owner.user_id, SUPPORT)
    for number, (role, content) in enumerate(SAID):
        turn = NewTurn(role, content, intent="delivery", page_context={"page": number}, tool_calls=({"name": "x"},))
        await memory.conversations.append(support, turn, operation_id=f"op-{number}")
        clock.advance(timedelta(seconds=7))
    long = Scope(owner.user_id, LONG)
    for number in range(30):
        await memory.conversations.append(long, NewTurn(Role.USER, f"Entry {number} of the diary."))
        clock.advance(timedelta(seconds=1))
    await memory.conversations.append(long, NewTurn(Role.TOOL, PAGES, token_count=9, importance=0.4))
    await memory.conversations.end(support, summary="An order was late.", open_questions=["Where is order 4711?"])
    await memory.chats.create(owner, "billing", title="Invoices")
    await memory.chats.create(owner, "travel")
    await memory.chats.delete(owner, "billing")
    memory.tool_log.record(support, "track", {"order": 4711}, "in transit", duration=timedelta(seconds=1))
    memory.tool_log.record(owner, "fail", {}, "", duration=timedelta(0), status=ToolStatus.ERROR)
    assert await memory.tool_log.drain()
    await memory.states.write(support, {"cart": ["book", 2]}, expected_version=0)
    await memory.snapshots.write(owner, "agent/1", b"\x00\xff" * 1000)
    await memory.snapshots.write(owner, "large", bytes(range(256)) * 4000)


async def answers(memory: Memory, owner: Scope) -> dict[str, Any]:
    """Return what the memory answers, about everything."""
    found: dict[str, Any] = {
        "facts": await memory.facts.all(owner, past=True),
        "history": await memory.facts.history(owner, "home/city"),
        "preferences": await memory.preferences.all(owner),
        "notes": await memory.notes.all(owner),
        "summaries": await memory.summaries.all(owner),
        "context": await memory.context.load(owner),
        "chats": [await memory.chats.active(owner, agent) for agent in ("billing", "travel")],
        "past chats": await memory.chats.past(owner, "billing"),
        "tool calls": await memory.tool_log.by_time(owner),
        "tool calls of a session": await memory.tool_log.by_session(owner, SUPPORT),
        "names": await memory.snapshots.names(owner),
        "snapshots": [await memory.snapshots.read(owner, name) for name in ("agent/1", "large")],
        "state": (await memory.states.read(Scope(owner.user_id, SUPPORT))).value,
    }
    for session in (SUPPORT, LONG):
        scope = Scope(owner.user_id, session)
        found[f"load {session}"] = await memory.conversations.load(scope)
        last = await memory.conversations.load(scope, turns=20, view=View.EVERYTHING)
        found[f"last {session}"] = last
        if last.cursor is not None:
            found[f"before {session}"] = (await memory.conversations.before(scope, last.cursor)).turns
    for question in QUESTIONS:
        found[question] = (await memory.recall.search(owner, question)).memories
    return found


async def lines(memory: Memory, owner: Scope) -> list[str]:
    return [line async for line in memory.archive.export(owner)]


@pytest.fixture
def through(tmp_path: Path, dynamodb_local_tables: DynamoDbTables) -> Any:
    with dynamodb_local_tables.fresh() as elsewhere:
        yield SqliteAddress(tmp_path / "first.db"), elsewhere, SqliteAddress(tmp_path / "last.db")


async def test_every_answer_is_the_same_after_moving_to_dynamodb_and_back(
    through: tuple[Address, ...], opened: Open, clock: FakeClock
) -> None:
    first, elsewhere, last = [await opened(address) for address in through]
    await fill(first, ANA, clock)
    before = await answers(first, ANA)

    exported = await lines(first, ANA)
    await elsewhere.archive.import_(ANA, exported)
    await last.archive.import_(ANA, await lines(elsewhere, ANA))

    assert await answers(elsewhere, ANA) == before
    assert await answers(last, ANA) == before
    again = await lines(last, ANA)
    assert [json.loads(line) for line in again[1:]] == [json.loads(line) for line in exported[1:]]


async def test_importing_twice_adds_nothing_and_counts_nothing_again(
    through: tuple[Address, ...], opened: Open, clock: FakeClock
) -> None:
    first, elsewhere, _ = [await opened(address) for address in through]
    await fill(first, ANA, clock)
    exported = await lines(first, ANA)
    entries = len(exported) - 1

    once = await elsewhere.archive.import_(BEN, exported)
    again = await elsewhere.archive.import_(BEN, exported)
    home = await first.archive.import_(ANA, exported)

    sessions = 2
    assert once == Imported(added=entries - sessions, known=0, forgotten=0)
    assert again == home == Imported(added=0, known=entries - sessions, forgotten=0)
    loaded = await elsewhere.conversations.load(Scope(BEN.user_id, LONG), turns=5)
    assert loaded.turn_count == 31
    assert (await first.conversations.load(Scope(ANA.user_id, LONG))).turn_count == 31


async def test_an_export_that_stopped_after_any_line_continues_with_the_next(
    through: tuple[Address, ...], opened: Open, clock: FakeClock
) -> None:
    first, *_ = [await opened(address) for address in through]
    await fill(first, ANA, clock)
    whole = await lines(first, ANA)

    for place, line in enumerate(whole):
        rest = [one async for one in first.archive.export(ANA, after=line)]
        assert rest == whole[place + 1 :], f"after line {place}: {line[:80]}"


async def test_a_hot_session_is_exported_in_order_from_all_its_partitions(
    through: tuple[Address, ...], opened: Open, clock: FakeClock
) -> None:
    first, elsewhere, _ = [await opened(address) for address in through]
    hot = Scope("ana", "hot")
    await first.conversations.append(hot, NewTurn(Role.USER, "begins"))
    await first.sessions().conversations._stores.stored.raise_partitions(hot, 4)  # pyright: ignore[reportPrivateUsage]
    for number in range(40):
        clock.advance(timedelta(seconds=1))
        await first.conversations.append(hot, NewTurn(Role.USER, f"turn {number}"))

    exported = [json.loads(line) for line in (await lines(first, ANA))[1:]]
    turns = [line["memory"]["content"] for line in exported if line["kind"] == "turn"]
    await elsewhere.archive.import_(ANA, await lines(first, ANA))

    assert turns == ["begins", *(f"turn {number}" for number in range(40))]
    assert (await elsewhere.conversations.load(hot)).turn_count == 41


async def test_turns_that_were_forgotten_are_counted_after_a_move_as_they_were_before(
    through: tuple[Address, ...], opened: Open, clock: FakeClock
) -> None:
    table = await through[0].open(clock)
    async with running(table, now=clock) as earlier_process:
        await fill(earlier_process, ANA, clock)
    await table.close()
    first, elsewhere, _ = [await opened(address) for address in through]
    found = (await first.recall.search(ANA, "It left the warehouse on Monday.")).memories
    (turn,) = [one for one in found if one.text.startswith("It left the warehouse")]
    await first.erasure.forget(ANA, turn.id)
    support = Scope(ANA.user_id, SUPPORT)

    await elsewhere.archive.import_(ANA, await lines(first, ANA))

    there, here = await elsewhere.conversations.load(support), await first.conversations.load(support)
    assert (len(there.turns), there.turn_count, there.token_count) == (3, here.turn_count, here.token_count)


async def test_what_is_running_meanwhile_is_neither_lost_nor_counted_twice(
    through: tuple[Address, ...], opened: Open, clock: FakeClock
) -> None:
    first, elsewhere, _ = [await opened(address) for address in through]
    await fill(first, ANA, clock)
    long = Scope(ANA.user_id, LONG)
    for number in range(5):
        await elsewhere.conversations.append(long, NewTurn(Role.USER, f"said there already {number}"))

    await elsewhere.archive.import_(ANA, await lines(first, ANA))
    await elsewhere.conversations.append(long, NewTurn(Role.USER, "and goes on"))

    loaded = await elsewhere.conversations.load(long, turns=40)
    assert (len(loaded.turns), loaded.turn_count) == (37, 37)


async def test_another_process_finds_imported_conversations_at_once(
    through: tuple[Address, ...], opened: Open, clock: FakeClock
) -> None:
    first, elsewhere, _ = [await opened(address) for address in through]
    other_process = await opened(through[1])
    await fill(first, ANA, clock)
    assert (await other_process.recall.search(ANA, "diary")).memories == ()

    await elsewhere.archive.import_(ANA, await lines(first, ANA))

    assert "diary" in (await other_process.recall.search(ANA, "Entry 7 of the diary")).memories[0].text


async def test_everybody_is_exported_into_one_file_and_gets_back_what_is_theirs(
    through: tuple[Address, ...], opened: Open, clock: FakeClock
) -> None:
    first, elsewhere, _ = [await opened(address) for address in through]
    await fill(first, ANA, clock)
    await first.facts.learn(BEN, Statement("Ben likes tea."))
    only_talks = Scope("carla", "s")
    await first.conversations.append(only_talks, NewTurn(Role.USER, "Hello!"))
    before = await answers(first, ANA)

    users = await first.archive.users()
    everything = [line for user in users for line in await lines(first, Scope(user))]
    await elsewhere.archive.import_(None, everything)

    assert users == ["ana", "ben#/ø", "carla"]
    assert await answers(elsewhere, ANA) == before
    assert [fact.text for fact in await elsewhere.facts.all(BEN)] == ["Ben likes tea."]
    assert (await elsewhere.conversations.load(only_talks)).turn_count == 1
    with pytest.raises(InvalidRequestError, match="several users"):
        await elsewhere.archive.import_(ANA, everything)


async def test_what_expired_since_the_export_stays_away(
    through: tuple[Address, ...], opened: Open, clock: FakeClock
) -> None:
    first, elsewhere, _ = [await opened(address) for address in through]
    await fill(first, ANA, clock)
    exported = await lines(first, ANA)
    clock.advance(timedelta(days=40))

    done = await elsewhere.archive.import_(ANA, exported)

    assert done.expired == 3  # two tool calls and the shared state
    assert (await elsewhere.tool_log.by_time(ANA)).calls == ()
