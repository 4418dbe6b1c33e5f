"""Transient entries of an index: turns that are indexed for a while although the index is full."""

from datetime import UTC, datetime

import pytest

from mcp_memory_server.domain.kernel.ulids import first_ulid_of
from mcp_memory_server.domain.kernel.vectors import NO_VECTORS
from mcp_memory_server.domain.recall.memories import StoredMemory
from mcp_memory_server.domain.recall.turn_memories import from_turn
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.services.conversations.past_turns import FoundTurn, TurnPlace
from mcp_memory_server.services.recall import user_index as user_index
from mcp_memory_server.services.recall.user_index import UserIndex, turn_document
from mcp_memory_server.wiring.embeddings import new_search_index

NOW = datetime(2026, 4, 1, tzinfo=UTC)


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> UserIndex:
    """An index with room for two transient entries."""
    monkeypatch.setattr(user_index, "MOST_TRANSIENT", 2)
    return UserIndex(new_search_index())


def turn(number: int) -> tuple[TurnPlace, StoredMemory]:
    turn_id = first_ulid_of(datetime(2026, 3, number, tzinfo=UTC))
    said = Turn(turn_id, Role.USER, f"something said on day {number}")
    return TurnPlace("talk", turn_id), from_turn("talk", said, None)


def add_transient(index: UserIndex, *numbers: int) -> None:
    new = index.admit_transient(dict(turn(number) for number in numbers))
    index.add(new, [NO_VECTORS] * len(new), NOW)


def indexed(index: UserIndex) -> list[int]:
    return [number for number in range(1, 10) if turn_document(turn(number)[0]) in index.index]


def test_the_oldest_transient_entries_are_evicted_first(few: UserIndex) -> None:
    add_transient(few, 1)
    add_transient(few, 2, 3)
    add_transient(few, 4)

    assert indexed(few) == [3, 4]
    assert set(few.transient) == set(few.turns)


def test_an_indexed_turn_is_not_admitted_again(few: UserIndex) -> None:
    add_transient(few, 1, 2)

    assert few.admit_transient(dict([turn(1), turn(2)])) == []


def test_a_transient_entry_that_is_named_again_becomes_the_newest(few: UserIndex) -> None:
    add_transient(few, 1)
    add_transient(few, 2)
    few.admit_transient({turn(1)[0]: None})
    add_transient(few, 3)

    assert indexed(few) == [1, 3]


def test_a_transient_entry_that_is_read_in_its_session_stays(few: UserIndex) -> None:
    add_transient(few, 1)
    place, memory = turn(1)
    was_new = few.is_new(FoundTurn(place, memory, 1))
    few.add([(turn_document(place), memory)], [NO_VECTORS], NOW, permanent=True)

    add_transient(few, 2, 3)
    add_transient(few, 4)

    assert (was_new, few.is_new(FoundTurn(place, memory, 1))) == (True, False)
    assert indexed(few) == [1, 3, 4]
