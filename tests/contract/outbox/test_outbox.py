"""What goes into an outbox stays there, in order, until it is removed."""

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.queued_turns import QueuedTurn, QueueLength
from mcp_memory_server.domain.sessions.turns import MAX_CONTENT_BYTES, Role, Turn
from mcp_memory_server.errors import InvalidRequestError, UnavailableError
from mcp_memory_server.ports.outbox import Outbox
from tests.clock import FakeClock
from tests.stores.outboxes import (
    ANA,
    BEN,
    HOSTILE_IDS,
    LEASE,
    NOW,
    OutboxStore,
    add_all,
    claim,
    queued,
    receipts,
    said,
)

pytestmark = pytest.mark.anyio


async def test_an_outbox_that_nothing_was_added_to_is_empty(outbox: Outbox) -> None:
    assert list(await outbox.waiting(ANA)) == []
    assert list(await claim(outbox, "one")) == []
    assert await outbox.length() == QueueLength(0)
    assert await outbox.erase("ana") == 0
    await outbox.remove("one", [])
    await outbox.release("one")


async def test_what_was_added_waits_in_order(outbox: Outbox) -> None:
    added = await add_all(outbox, ANA, "first", "second", "third")
    await add_all(outbox, BEN, "another's")

    assert list(await outbox.waiting(ANA)) == added


async def test_every_detail_of_a_turn_comes_back(outbox: Outbox) -> None:
    turn = Turn(
        ulid_after(None, NOW),
        Role.ASSISTANT,
        "ä\0\n😀",
        speaker="Ana",
        intent="greet",
        agent="clerk",
        tool_calls=({"name": "look", "input": {"x": [1, None, 2.5]}},),
        token_count=7,
        importance=0.9,
        page_context={"url": "https://example.org"},
        response_id="r-1",
        guardrail_flags=("pii",),
    )
    whole = QueuedTurn(ANA, turn, "operation", NOW, counted_in="token")

    await outbox.add(whole)

    assert list(await outbox.waiting(ANA)) == [whole]
    assert [one.queued for one in await claim(outbox, "one")] == [whole]


@pytest.mark.parametrize("letters", ["a", "😀"])
async def test_the_longest_turn_comes_back_whole(outbox: Outbox, letters: str) -> None:
    longest = queued(letters * (MAX_CONTENT_BYTES // len(letters.encode())))

    await outbox.add(longest)

    assert list(await outbox.waiting(ANA)) == [longest]


async def test_an_operation_that_is_repeated_is_queued_once(outbox: Outbox) -> None:
    first = queued("first", operation="once")
    await outbox.add(first)

    await outbox.add(queued("again", operation="once"))
    await outbox.add(queued("another's", BEN, operation="once"))

    assert list(await outbox.waiting(ANA)) == [first]
    assert len(await outbox.waiting(BEN)) == 1


async def test_a_turn_without_a_session_or_with_an_endless_operation_id_is_refused(outbox: Outbox) -> None:
    with pytest.raises(InvalidRequestError):
        await outbox.add(queued(scope=Scope("ana")))
    with pytest.raises(InvalidRequestError):
        await outbox.add(queued(operation="x" * 129))

    assert (await outbox.length()).turns == 0


async def test_another_process_sees_what_was_added(outbox: Outbox, other_outbox: Outbox) -> None:
    assert list(await other_outbox.waiting(ANA)) == []

    added = await add_all(outbox, ANA, "first")

    assert list(await other_outbox.waiting(ANA)) == added


async def test_what_waits_is_there_after_a_restart(outbox_store: OutboxStore, clock: FakeClock) -> None:
    before = outbox_store.open(clock)
    added = await add_all(before, ANA, "first", "second")
    await before.close()

    after = outbox_store.open(clock)

    assert list(await after.waiting(ANA)) == added
    assert said(await claim(after, "one")) == ["first", "second"]
    await after.close()


async def test_what_is_removed_is_gone_and_removing_it_twice_is_harmless(outbox: Outbox) -> None:
    await add_all(outbox, ANA, "first", "second")
    claimed = await claim(outbox, "one")

    await outbox.remove("one", receipts(claimed)[:1])
    await outbox.remove("one", receipts(claimed)[:1])

    assert [one.turn.content for one in await outbox.waiting(ANA)] == ["second"]
    assert (await outbox.length()).turns == 1


async def test_a_receipt_never_names_a_later_turn(outbox: Outbox) -> None:
    await add_all(outbox, ANA, "first")
    old = receipts(await claim(outbox, "one"))
    await outbox.remove("one", old)
    await add_all(outbox, ANA, "second")

    await outbox.remove("one", old)

    assert (await outbox.length()).turns == 1


async def test_the_length_tells_how_many_wait_and_since_when(outbox: Outbox) -> None:
    await outbox.add(queued("early", at=NOW))
    await outbox.add(queued("late", BEN, at=NOW + LEASE))
    await claim(outbox, "one")

    assert await outbox.length() == QueueLength(2, NOW)


async def test_erasing_a_user_removes_all_of_theirs_and_nothing_else(outbox: Outbox) -> None:
    await add_all(outbox, ANA, "first", "second")
    await add_all(outbox, Scope("ana", "another"), "third")
    others = await add_all(outbox, BEN, "stays")
    claimed = await claim(outbox, "one")

    assert await outbox.erase("ana") == 3

    assert list(await outbox.waiting(ANA)) == []
    assert list(await outbox.waiting(BEN)) == others
    assert said(await claim(outbox, "one")) == ["stays"]
    await outbox.remove("one", receipts(claimed))
    assert (await outbox.length()).turns == 0


async def test_hostile_ids_are_kept_apart(outbox: Outbox) -> None:
    scopes = [Scope(user, session) for user in HOSTILE_IDS for session in HOSTILE_IDS]
    added = {scope: (await add_all(outbox, scope, repr(scope)))[0] for scope in scopes}

    claimed = await claim(outbox, "o'wner\n😀")

    assert {scope: list(await outbox.waiting(scope)) for scope in scopes} == {scope: [added[scope]] for scope in scopes}
    assert [one.queued for one in claimed] == list(added.values())
    assert await outbox.erase("a") == len(HOSTILE_IDS)
    assert (await outbox.length()).turns == len(scopes) - len(HOSTILE_IDS)


async def test_a_closed_outbox_says_so_and_may_be_closed_twice(outbox_store: OutboxStore, clock: FakeClock) -> None:
    outbox = outbox_store.open(clock)
    await add_all(outbox, ANA, "first")

    await outbox.close()
    await outbox.close()

    with pytest.raises(UnavailableError):
        await outbox.add(queued())
    with pytest.raises(UnavailableError):
        await outbox.waiting(ANA)
