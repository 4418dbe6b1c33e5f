"""A past value is found, but never before the current value."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mcp_memory_server.domain.facts.fact import Fact, Permanence, Source, Standing
from mcp_memory_server.domain.recall.documents import Match
from mcp_memory_server.domain.recall.memories import StoredMemory, from_fact
from mcp_memory_server.domain.recall.past_values_last import with_past_values_last

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def memory(name: str, standing: Standing, topic: str | None) -> StoredMemory:
    ended = NOW if standing is Standing.PAST else None
    began = NOW - timedelta(days=9)
    stated = Source.USER_STATED
    fact = Fact(name, name, topic, stated, 0.9, Permanence.DURABLE, 1, began, began, ended, standing=standing)
    return from_fact(fact)


def order(*memories: StoredMemory) -> list[str]:
    matches = [Match(one.id, 0.5, {}) for one in memories]
    return [match.id for match in with_past_values_last(matches, {one.id: one for one in memories}, NOW)]


BERN, ROME = memory("bern", Standing.PAST, "City"), memory("rome", Standing.CURRENT, "city")
DOG = memory("dog", Standing.CURRENT, "pets")


def test_a_past_value_comes_right_after_the_current_value() -> None:
    assert order(BERN, DOG, ROME) == ["dog", "rome", "bern"]


def test_a_past_value_keeps_its_place_without_a_current_value() -> None:
    assert order(BERN, DOG) == ["bern", "dog"]


def test_past_values_without_a_topic_keep_their_places() -> None:
    assert order(replace(BERN, topic=None), replace(ROME, topic=None)) == ["bern", "rome"]
