"""Queries over a snapshot of a user: one fact, facts under a topic, history, and facts as of a time."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TypeVar

from mcp_memory_server.domain.facts.as_of import facts_true_at
from mcp_memory_server.domain.facts.fact import Fact, Standing
from mcp_memory_server.domain.facts.topics import checked_prefix, checked_topic, is_under
from mcp_memory_server.domain.recall.memories import (
    UserSnapshot,
    current,
    is_unexpired,
    unexpired,
    without_duplicates,
)
from mcp_memory_server.domain.recall.memory_ids import resolved_id
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.services.facts.history import all_versions

R = TypeVar("R")

STANDING_ORDER = (Standing.CURRENT, Standing.CANDIDATE, Standing.PAST)


def fact_with_id(snapshot: UserSnapshot, fact_id: str, now: datetime) -> Fact:
    """Return the fact with this id: current, a candidate, or else the latest past version.

    Raises:
        NotFoundError: There is none.
    """
    fact_id = resolved_id(fact_id, snapshot)
    found = [row.fact for row in unexpired(snapshot.memories, now) if row.id == fact_id and row.fact]
    past = [row.fact for row in unexpired(snapshot.past, now) if row.id == fact_id and row.fact]
    for fact in (*found, *sorted(past, key=lambda one: one.valid_from, reverse=True)):
        return fact
    raise no_such_fact(fact_id)


def facts_under(snapshot: UserSnapshot, now: datetime, prefix: str | None = None, *, past: bool = False) -> list[Fact]:
    """Return current facts and candidates in the order of their topics, with ``past`` history as well."""
    below = None if prefix is None else checked_prefix(prefix)
    rows = unexpired([*snapshot.memories, *snapshot.past], now) if past else current(snapshot.memories, now)
    facts = [row.fact for row in rows if row.fact is not None]
    return sorted((fact for fact in facts if below is None or is_under(fact.topic, below)), key=topic_order)


def history_of_topic(snapshot: UserSnapshot, topic: str, now: datetime) -> list[Fact]:
    """Return the past and current facts of this topic, in the order in which they were learned."""
    return _in_order(snapshot, snapshot.by_topic.get(checked_topic(topic).casefold(), frozenset()), now)


def history_of_fact(snapshot: UserSnapshot, fact_id: str, now: datetime) -> list[Fact]:
    """Return a fact with the facts it superseded and those that superseded it, in the order of learning.

    Raises:
        NotFoundError: There is no fact with this id.
    """
    fact_id = resolved_id(fact_id, snapshot)
    named = [sk for sk, row in snapshot.by_key.items() if row.fact is not None and row.id == fact_id]
    if not named:
        raise no_such_fact(fact_id)
    return _in_order(snapshot, all_versions(snapshot, named), now)


def facts_as_of(snapshot: UserSnapshot, moment: datetime, now: datetime) -> list[Fact]:
    """Return the facts that were true at this moment, without duplicates."""
    facts = {sk: row.fact for sk, row in snapshot.by_key.items() if row.fact is not None and is_unexpired(row, now)}
    rows = [snapshot.by_key[sk] for sk in facts_true_at(facts, moment)]
    return [row.fact for row in without_duplicates(rows) if row.fact]


def first_found(snapshots: Sequence[UserSnapshot], query: Callable[[UserSnapshot], R]) -> R:
    """Return the answer of the first snapshot that has one.

    Raises:
        NotFoundError: None has.
    """
    for snapshot in snapshots[:-1]:
        with suppress(NotFoundError):
            return query(snapshot)
    return query(snapshots[-1])


def no_such_fact(fact_id: str) -> NotFoundError:
    """Return the error for an unknown id."""
    return NotFoundError(f"no current fact has the id {fact_id[:80]!r}; `recall` shows the ids of what is known")


def learning_order(fact: Fact) -> tuple[datetime, bool, str]:
    """Return the sort key of a fact in a history."""
    return fact.valid_from, fact.standing is Standing.CURRENT, fact.id


def topic_order(fact: Fact) -> tuple[bool, str, int, datetime]:
    """Return the sort key of a fact in a list by topics."""
    return fact.topic is None, (fact.topic or "").casefold(), STANDING_ORDER.index(fact.standing), fact.valid_from


def _in_order(snapshot: UserSnapshot, sort_keys: Iterable[str], now: datetime) -> list[Fact]:
    rows = unexpired((snapshot.by_key[sk] for sk in sort_keys), now)
    facts = [row.fact for row in rows if row.fact is not None and row.fact.standing is not Standing.CANDIDATE]
    return sorted(facts, key=learning_order)
