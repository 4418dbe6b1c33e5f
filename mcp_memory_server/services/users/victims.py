"""Which items go when a memory is forgotten, and the tombstones that they leave."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from mcp_memory_server.domain.facts.fact import Fact, Standing, Tombstone
from mcp_memory_server.domain.facts.supersession import is_update
from mcp_memory_server.domain.facts.topics import same_topic
from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.language.mentions import sketch
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import tombstone_body
from mcp_memory_server.services.facts.history import earlier_versions


def victims_of(snapshot: UserSnapshot, memory_id: str) -> list[str]:
    """Return the sort keys to remove: the memory, its duplicates and, if it is current, its history and candidates."""
    facts = {sk: memory.fact for sk, memory in snapshot.by_key.items() if memory.fact is not None}
    named = {sk for sk, memory in snapshot.by_key.items() if is_named(memory, memory_id)}
    statements = {facts[sk].fingerprint for sk in named if sk in facts}
    current = {sk for sk in named if sk in facts and facts[sk].standing is Standing.CURRENT}
    victims = named | {sk for sk, fact in facts.items() if fact.fingerprint in statements}
    victims |= _history(snapshot, current) | _candidates(facts, [facts[sk] for sk in current])
    # As long as a fact exists, the earlier versions that it superseded are found again after an interruption: current
    # facts go last, and before them the oldest versions first.
    return sorted(
        victims,
        key=lambda sk: (sk in named, snapshot.by_key[sk].kind is Kind.FACT, snapshot.by_key[sk].since, sk),
    )


def is_named(memory: StoredMemory, memory_id: str) -> bool:
    """Check whether the memory has this id."""
    if memory.kind is Kind.PREFERENCE:
        return memory.id.casefold() == memory_id.casefold()
    return memory.id == memory_id


def _history(snapshot: UserSnapshot, current: Collection[str]) -> set[str]:
    """Return the earlier versions. Releases up to 0.2 stored those of a topic together, without naming the fact."""
    found = earlier_versions(snapshot, current)
    for sk in current:
        beside = snapshot.by_topic.get((snapshot.by_key[sk].topic or "").casefold(), frozenset[str]())
        if not any(snapshot.by_key[one].kind is Kind.FACT for one in beside - {sk}):
            found |= {one for one in beside & snapshot.legacy if snapshot.by_key[one].kind is Kind.PAST}
    return found


def _candidates(facts: Mapping[str, Fact], current: Sequence[Fact]) -> set[str]:
    """Return the candidates for the values of the facts that are removed."""
    candidates = {sk: fact for sk, fact in facts.items() if fact.standing is Standing.CANDIDATE}
    return {
        sk
        for sk, candidate in candidates.items()
        for fact in current
        if same_topic(candidate.topic, fact.topic) and is_update(candidate.text, fact.text, fact.topic)
    }


def tombstones_of(scope: Scope, victims: Sequence[StoredMemory], now: datetime) -> list[Put]:
    """Return the writes of the tombstones that these memories leave: those of facts."""
    facts = {memory.fact.fingerprint: memory.fact for memory in victims if memory.fact}
    return [
        Put(
            keys.tombstone_key(scope, fingerprint),
            tombstone_body(Tombstone(fingerprint, now, sketch(fact.text), fact.session_id, fact.turn_id)),
        )
        for fingerprint, fact in sorted(facts.items())
    ]
