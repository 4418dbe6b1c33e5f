"""Dead letters are kept, taken in hand by one at a time, and removed when they have been seen to."""

import asyncio

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.queued_turns import DeadLetter, HeldLetter
from mcp_memory_server.errors import InvalidRequestError, UnavailableError
from mcp_memory_server.ports.dead_letters import DeadLetters
from tests.clock import FakeClock
from tests.stores.outboxes import ANA, BEN, HOSTILE_IDS, LetterStore, letter, queued

pytestmark = pytest.mark.anyio

MANY = 25


async def take_all(letters: DeadLetters, most: int = MANY) -> list[HeldLetter]:
    held: list[HeldLetter] = []
    while some := await letters.take(most=most):
        held += some
    return held


async def test_a_store_that_nothing_was_added_to_is_empty(dead_letters: DeadLetters) -> None:
    assert list(await dead_letters.take(most=10)) == []
    assert await dead_letters.count() == 0
    assert await dead_letters.erase("ana") == 0
    await dead_letters.remove([])
    await dead_letters.let_go([])


async def test_a_letter_comes_back_as_it_was(dead_letters: DeadLetters) -> None:
    sent = letter("ä\0\n😀 " * 1000)

    await dead_letters.add(sent)

    (held,) = await dead_letters.take(most=10)
    assert held.letter == sent


async def test_a_letter_is_there_after_a_restart(letter_store: LetterStore, clock: FakeClock) -> None:
    before = letter_store.open(clock)
    sent = letter()
    await before.add(sent)
    await before.close()

    after = letter_store.open(clock)

    assert [held.letter for held in await after.take(most=10)] == [sent]
    await after.close()


async def test_letters_are_taken_oldest_first_and_no_more_than_asked_for(dead_letters: DeadLetters) -> None:
    sent = [letter(f"{number}") for number in range(3)]
    for one in sent:
        await dead_letters.add(one)

    assert [held.letter for held in await dead_letters.take(most=2)] == sent[:2]


async def test_more_letters_than_one_request_gives_are_all_found(dead_letters: DeadLetters) -> None:
    await asyncio.gather(*(dead_letters.add(letter(f"{number}")) for number in range(MANY)))

    held = await take_all(dead_letters)

    assert len({one.letter.queued.turn.content for one in held}) == MANY
    await dead_letters.remove([one.receipt for one in held])
    assert await dead_letters.count() == 0


async def test_what_one_has_in_hand_others_do_not_get(
    dead_letters: DeadLetters, other_dead_letters: DeadLetters
) -> None:
    await dead_letters.add(letter())
    await dead_letters.take(most=10)

    assert list(await other_dead_letters.take(most=10)) == []
    assert await other_dead_letters.count() == 1


async def test_what_is_let_go_others_get_at_once(dead_letters: DeadLetters, other_dead_letters: DeadLetters) -> None:
    sent = letter()
    await dead_letters.add(sent)
    held = await dead_letters.take(most=10)

    await dead_letters.let_go([one.receipt for one in held])

    assert [one.letter for one in await other_dead_letters.take(most=10)] == [sent]


async def test_what_is_removed_is_gone_and_removing_it_twice_is_harmless(dead_letters: DeadLetters) -> None:
    await dead_letters.add(letter("first"))
    (first,) = await dead_letters.take(most=10)
    await dead_letters.add(letter("second"))

    await dead_letters.remove([first.receipt])
    await dead_letters.remove([first.receipt])
    await dead_letters.let_go([first.receipt])

    assert [held.letter.queued.turn.content for held in await dead_letters.take(most=10)] == ["second"]
    assert await dead_letters.count() == 1


async def test_erasing_a_user_removes_all_of_theirs_and_nothing_else(dead_letters: DeadLetters) -> None:
    for number in range(MANY):
        await dead_letters.add(letter(f"{number}", ANA if number % 2 else BEN))

    assert await dead_letters.erase("ana") == MANY // 2

    assert {held.letter.queued.scope for held in await take_all(dead_letters)} == {BEN}
    assert await dead_letters.count() == MANY - MANY // 2


async def test_hostile_ids_come_back_as_they_were(dead_letters: DeadLetters) -> None:
    sent = [letter(scope=Scope(name, name)) for name in HOSTILE_IDS]
    for one in sent:
        await dead_letters.add(one)

    held = await take_all(dead_letters)

    assert [one.letter for one in held] == sent


async def test_a_letter_without_a_session_is_refused(dead_letters: DeadLetters) -> None:
    homeless = DeadLetter(queued(scope=Scope("ana")), "reason", queued().queued_at)

    with pytest.raises(InvalidRequestError):
        await dead_letters.add(homeless)

    assert await dead_letters.count() == 0


async def test_closed_letters_say_so_and_may_be_closed_twice(letter_store: LetterStore, clock: FakeClock) -> None:
    letters = letter_store.open(clock)
    await letters.add(letter())

    await letters.close()
    await letters.close()

    with pytest.raises(UnavailableError):
        await letters.take(most=1)
    with pytest.raises(UnavailableError):
        await letters.add(letter())
