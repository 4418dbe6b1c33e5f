"""Guests of an index: turns without a place of their own, which leave again unless they get one."""

from datetime import UTC, datetime

import pytest

from mcp_memory_server.domain.kernel.ulids import first_ulid_of
from mcp_memory_server.domain.kernel.vectors import NO_VECTORS
from mcp_memory_server.domain.recall.memories import StoredMemory
from mcp_memory_server.domain.recall.turn_memories import from_turn
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.services.conversations.past_turns import FoundTurn, TurnPlace
from mcp_memory_server.services.recall import user_index as searchable
from mcp_memory_server.services.recall.user_index import UserIndex, turn_document
from mcp_memory_server.wiring.embeddings import new_search_index

NOW = datetime(2026, 4, 1, tzinfo=UTC)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> UserIndex:
    """An index that takes two guests."""
    monkeypatch.setattr(searchable, "MOST_TRANSIENT", 2)
    return UserIndex(new_search_index())


def turn(number: int) -> tuple[TurnPlace, StoredMemory]:
    turn_id = first_ulid_of(datetime(2026, 3, number, tzinfo=UTC))
    said = Turn(turn_id, Role.USER, f"something said on day {number}")
    return TurnPlace("talk", turn_id), from_turn("talk", said, None)


def bring_in(index: UserIndex, *numbers: int) -> None:
    new = index.admit(dict(turn(number) for number in numbers))
    index.put_in(new, [NO_VECTORS] * len(new), NOW)


def held(index: UserIndex) -> list[int]:
    return [number for number in range(1, 10) if turn_document(turn(number)[0]) in index.index]


def test_the_guests_that_came_first_leave_first(few: UserIndex) -> None:
    bring_in(few, 1)
    bring_in(few, 2, 3)
    bring_in(few, 4)

    assert held(few) == [3, 4]
    assert set(few.transient) == set(few.turns)


def test_who_is_there_already_is_not_brought_in_again(few: UserIndex) -> None:
    bring_in(few, 1, 2)

    assert few.admit(dict([turn(1), turn(2)])) == []


def test_a_guest_who_is_named_again_stays_longer_than_one_who_came_later(few: UserIndex) -> None:
    bring_in(few, 1)
    bring_in(few, 2)
    few.admit({turn(1)[0]: None})
    bring_in(few, 3)

    assert held(few) == [1, 3]


def test_a_guest_that_is_read_in_its_session_stays_for_good(few: UserIndex) -> None:
    bring_in(few, 1)
    place, memory = turn(1)
    was_new = few.is_new(FoundTurn(place, memory, 1))
    few.put_in([(turn_document(place), memory)], [NO_VECTORS], NOW, for_good=True)

    bring_in(few, 2, 3)
    bring_in(few, 4)

    assert (was_new, few.is_new(FoundTurn(place, memory, 1))) == (True, False)
    assert held(few) == [1, 3, 4]
