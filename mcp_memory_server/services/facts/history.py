"""Follow the versions of a fact: the facts it superseded, and those that superseded it."""

from collections import defaultdict
from collections.abc import Iterable

from mcp_memory_server.domain.recall.memories import UserSnapshot
from mcp_memory_server.schema.keys import legacy_place_of


def earlier_versions(snapshot: UserSnapshot, sort_keys: Iterable[str]) -> set[str]:
    """Return the sort keys of the facts that these superseded, and so on back to the first."""
    superseded: defaultdict[str, set[str]] = defaultdict(set)
    for sk, memory in snapshot.by_key.items():
        if memory.fact is not None and memory.fact.superseded_by is not None:
            superseded[memory.fact.superseded_by].add(sk)
    beside: defaultdict[str, set[str]] = defaultdict(set)
    for sk in snapshot.legacy:
        if snapshot.by_key[sk].fact is not None and (place := legacy_place_of(sk)) is not None and sk != place:
            beside[place].add(sk)
    asked = set(sort_keys)
    found, new = set[str](), set(asked)
    while new:
        facts = [(sk, snapshot.by_key[sk].fact) for sk in new if sk in snapshot.by_key]
        before = {one for _, fact in facts if fact is not None for one in superseded[fact.fingerprint]}
        before |= {one for sk in new if (place := legacy_place_of(sk)) is not None for one in beside[place]}
        new = before - found - asked
        found |= new
    return found


def all_versions(snapshot: UserSnapshot, sort_keys: Iterable[str]) -> set[str]:
    """Return the sort keys of these facts, of those that superseded them, and of all that any of them superseded."""
    by_statement: defaultdict[str, set[str]] = defaultdict(set)
    for sk, memory in snapshot.by_key.items():
        if memory.fact is not None:
            by_statement[memory.fact.fingerprint].add(sk)
    found, new = set[str](), set(sort_keys)
    while new:
        found |= new
        facts = [fact for sk in new if sk in snapshot.by_key and (fact := snapshot.by_key[sk].fact) is not None]
        new = {one for fact in facts if fact.superseded_by for one in by_statement[fact.superseded_by]} - found
    return found | earlier_versions(snapshot, found)
