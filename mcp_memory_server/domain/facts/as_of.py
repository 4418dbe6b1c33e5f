"""Select the facts that were true at an earlier time."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from mcp_memory_server.domain.facts.fact import Fact, Permanence, Standing, begins_at, held_at
from mcp_memory_server.domain.facts.supersession import is_single_valued


def facts_true_at(facts: Mapping[str, Fact], moment: datetime) -> list[str]:
    """Return the names of the facts that were true at this moment.

    If the start of a fact is unknown, the first known value is assumed to have been true before it was learned
    (`learned_later`), unless the fact is transient.
    """
    certain = {name: fact for name, fact in facts.items() if fact.standing is not Standing.CANDIDATE}
    held = [name for name, fact in certain.items() if held_at(fact, moment)]
    if len(held) == len(certain):
        return held
    later = {name: fact for name, fact in certain.items() if _may_have_held(fact, moment)}
    return held + _first_of_each(later, certain, {name: certain[name] for name in held})


def learned_later(fact: Fact, moment: datetime) -> bool:
    """Check whether the fact was learned after this moment, and it is unknown whether it was true then."""
    return moment < begins_at(fact) and fact.since is None


def _may_have_held(fact: Fact, moment: datetime) -> bool:
    if not learned_later(fact, moment) or fact.permanence is Permanence.TRANSIENT:
        return False
    if fact.until is not None:
        return moment.date() <= fact.until
    return fact.ends_at is None  # an announced event was not true before its announcement


def _first_of_each(later: Mapping[str, Fact], certain: Mapping[str, Fact], held: Mapping[str, Fact]) -> list[str]:
    """Return the facts of which no earlier value was true."""
    followed = {fact.superseded_by for fact in certain.values() if fact.superseded_by is not None}
    ends = {(_folded(fact.topic), fact.valid_to) for fact in certain.values() if fact.topic and fact.valid_to}
    first = {
        name: fact
        for name, fact in later.items()
        if fact.fingerprint not in followed and (_folded(fact.topic), fact.valid_from) not in ends
    }
    taken = {_folded(fact.topic) for fact in held.values() if _has_one_value(fact)}
    singles: defaultdict[str, list[str]] = defaultdict(list)
    for name, fact in first.items():
        if _has_one_value(fact):
            singles[_folded(fact.topic)].append(name)
    chosen = {min(names, key=lambda name: _end(first[name])) for topic, names in singles.items() if topic not in taken}
    return [name for name, fact in first.items() if name in chosen or not _has_one_value(fact)]


def _end(fact: Fact) -> tuple[str, datetime]:
    return str(fact.last_day or "9999"), fact.valid_from


def _has_one_value(fact: Fact) -> bool:
    return is_single_valued(fact.topic)


def _folded(topic: str | None) -> str:
    return (topic or "").casefold()
