"""One owner at a time has the turns of a session, in their order, and one that died is replaced."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.ports.outbox import Outbox
from tests.clock import FakeClock
from tests.stores.outboxes import ANA, BEN, LEASE, add_all, claim, receipts, said

pytestmark = pytest.mark.anyio

MOMENT = timedelta(milliseconds=1)


async def test_the_oldest_turns_are_given_out_first_and_those_of_a_session_in_order(outbox: Outbox) -> None:
    await add_all(outbox, ANA, "1")
    await add_all(outbox, BEN, "2")
    await add_all(outbox, ANA, "3", "4")

    assert said(await claim(outbox, "one", most=3)) == ["1", "2", "3"]
    assert said(await claim(outbox, "one")) == ["1", "2", "3", "4"]


async def test_of_many_sessions_those_that_wait_longest_come_first(outbox: Outbox) -> None:
    for number in range(5):
        await add_all(outbox, Scope("ana", f"{9 - number}"), f"{number}")

    assert said(await claim(outbox, "one", most=2)) == ["0", "1"]


async def test_a_first_claim_tells_that_no_attempt_was_made(outbox: Outbox) -> None:
    await add_all(outbox, ANA, "first")

    assert [one.attempts for one in await claim(outbox, "one")] == [0]


async def test_two_owners_never_have_the_same_session(outbox: Outbox, other_outbox: Outbox) -> None:
    await add_all(outbox, ANA, "1", "2")
    await claim(outbox, "one", most=1)
    await add_all(outbox, ANA, "3")
    await add_all(outbox, BEN, "4")

    assert said(await claim(other_outbox, "two")) == ["4"]
    assert said(await claim(outbox, "one")) == ["1", "2", "3"]


async def test_an_owner_that_died_is_replaced_when_its_lease_is_over(
    outbox: Outbox, other_outbox: Outbox, clock: FakeClock
) -> None:
    await add_all(outbox, ANA, "1", "2")
    await claim(outbox, "one")
    clock.advance(LEASE - MOMENT)
    assert said(await claim(other_outbox, "two")) == []

    clock.advance(MOMENT)

    assert said(await claim(other_outbox, "two")) == ["1", "2"]
    assert said(await claim(outbox, "one")) == []


async def test_claiming_again_renews_the_lease(outbox: Outbox, other_outbox: Outbox, clock: FakeClock) -> None:
    await add_all(outbox, ANA, "1")
    await claim(outbox, "one")
    clock.advance(LEASE - MOMENT)

    assert said(await claim(outbox, "one")) == ["1"]

    clock.advance(LEASE - MOMENT)
    assert said(await claim(other_outbox, "two")) == []


async def test_what_an_owner_lets_go_of_others_get_at_once(outbox: Outbox, other_outbox: Outbox) -> None:
    await add_all(outbox, ANA, "1")
    await claim(outbox, "one")

    await outbox.release("one")

    assert said(await claim(other_outbox, "two")) == ["1"]


async def test_letting_go_touches_no_other_owner(outbox: Outbox, other_outbox: Outbox) -> None:
    await add_all(outbox, ANA, "1")
    await claim(outbox, "one")

    await other_outbox.release("two")

    assert said(await claim(other_outbox, "two")) == []


async def test_a_session_whose_turns_are_all_removed_is_free_again(outbox: Outbox, other_outbox: Outbox) -> None:
    await add_all(outbox, ANA, "1")
    await outbox.remove("one", receipts(await claim(outbox, "one")))

    await add_all(outbox, ANA, "2")

    assert said(await claim(other_outbox, "two")) == ["2"]


async def test_what_is_put_off_comes_after_its_pause_with_its_attempts(outbox: Outbox, clock: FakeClock) -> None:
    await add_all(outbox, ANA, "1", "2")
    await add_all(outbox, BEN, "3")
    first = (await claim(outbox, "one"))[0]

    await outbox.put_off("one", first.receipt, timedelta(seconds=5))

    assert said(await claim(outbox, "one")) == ["3"]
    clock.advance(timedelta(seconds=5))
    again = await claim(outbox, "one")
    assert [(one.queued.turn.content, one.attempts) for one in again] == [("1", 1), ("2", 0), ("3", 0)]


async def test_what_stands_before_a_turn_that_was_put_off_is_given_out(outbox: Outbox, clock: FakeClock) -> None:
    await add_all(outbox, ANA, "1", "2", "3")
    claimed = await claim(outbox, "one")

    await outbox.put_off("one", claimed[1].receipt, timedelta(seconds=5))

    assert said(await claim(outbox, "one")) == ["1"]
    await outbox.remove("one", [claimed[0].receipt])
    assert said(await claim(outbox, "one")) == []
    clock.advance(timedelta(seconds=5))
    assert said(await claim(outbox, "one")) == ["2", "3"]


async def test_a_pause_holds_for_the_next_owner_too(outbox: Outbox, other_outbox: Outbox, clock: FakeClock) -> None:
    await add_all(outbox, ANA, "1")
    (only,) = await claim(outbox, "one")
    await outbox.put_off("one", only.receipt, timedelta(minutes=5))
    await outbox.release("one")

    assert said(await claim(other_outbox, "two")) == []
    clock.advance(timedelta(minutes=5))
    assert [one.attempts for one in await claim(other_outbox, "two")] == [1]


async def test_what_is_put_off_still_waits(outbox: Outbox) -> None:
    added = await add_all(outbox, ANA, "1")
    (only,) = await claim(outbox, "one")

    await outbox.put_off("one", only.receipt, timedelta(minutes=5))

    assert list(await outbox.waiting(ANA)) == added
    assert (await outbox.length()).turns == 1


async def test_an_owner_whose_session_another_one_has_may_still_remove_what_the_table_has(
    outbox: Outbox, other_outbox: Outbox, clock: FakeClock
) -> None:
    await add_all(outbox, ANA, "1", "2")
    late = await claim(outbox, "one")
    clock.advance(LEASE)
    await claim(other_outbox, "two")

    await outbox.remove("one", receipts(late)[:1])

    assert said(await claim(other_outbox, "two")) == ["2"]


async def test_an_owner_whose_session_another_one_has_can_put_nothing_off(
    outbox: Outbox, other_outbox: Outbox, clock: FakeClock
) -> None:
    await add_all(outbox, ANA, "1")
    (late,) = await claim(outbox, "one")
    clock.advance(LEASE)
    await claim(other_outbox, "two")

    await outbox.put_off("one", late.receipt, timedelta(hours=1))

    assert [one.attempts for one in await claim(other_outbox, "two")] == [0]


async def test_the_lease_of_one_that_died_an_hour_ahead_of_the_clock_is_taken_over(
    outbox: Outbox, other_outbox: Outbox, clock: FakeClock
) -> None:
    await add_all(outbox, ANA, "1", "2")
    clock.advance(timedelta(hours=1))
    await claim(outbox, "one")
    clock.advance(-timedelta(hours=1))

    assert said(await claim(other_outbox, "two")) == ["1", "2"]
