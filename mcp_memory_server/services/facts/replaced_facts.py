"""The facts that a statement names as replaced: by their ids, or as the value of its topic."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.recall.memories import Kind, UserSnapshot, is_unexpired
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.services.facts.related_facts import TOPIC

MOST_REPLACED = 50


def checked_names(statement: Statement, replaces: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return the distinct names of replaced facts.

    Raises:
        InvalidRequestError: There are too many, or ``"topic"`` is named without a topic.
    """
    named = () if replaces is None else (replaces,) if isinstance(replaces, str) else tuple(dict.fromkeys(replaces))
    if len(named) > MOST_REPLACED:
        raise InvalidRequestError(f"a fact can replace at most {MOST_REPLACED} others at once, got {len(named)} ids")
    if TOPIC in named and statement.topic is None:
        raise InvalidRequestError(f"replaces={TOPIC!r} needs the topic whose value is set")
    return named


def resolve_names(
    snapshot: UserSnapshot, statement: Statement, named: Sequence[str], now: datetime
) -> tuple[Statement, list[str], list[str]]:
    """Return the statement under its topic in the stored spelling, the sort keys that it names, and unknown ids."""
    under_topic = snapshot.by_topic.get((statement.topic or "").casefold(), frozenset[str]())
    chosen = [sk for sk in under_topic if snapshot.by_key[sk].kind is Kind.FACT] if TOPIC in named else []
    ids = {name: list[str]() for name in named if name != TOPIC}
    already_replaced = set[str]()
    for sk, row in snapshot.by_key.items() if ids else ():
        if row.fact is None or row.id not in ids or not is_unexpired(row, now):
            continue
        if row.kind is not Kind.PAST:
            ids[row.id].append(sk)
        elif row.fact.superseded_by == statement.fingerprint:
            already_replaced.add(row.id)
    replaced = [sk for sort_keys in ids.values() for sk in sort_keys]
    topics = (snapshot.by_key[sk].topic for sk in replaced)
    topic = statement.topic or next((topic for topic in topics if topic is not None), None)
    rows = [snapshot.by_key[sk] for sk in snapshot.by_topic.get((topic or "").casefold(), ())]
    written = min(rows, key=lambda row: row.since, default=None)
    statement = replace(statement, topic=topic if written is None else written.topic)
    return (
        statement,
        [*chosen, *replaced],
        [name for name, found in ids.items() if not found and name not in already_replaced],
    )
