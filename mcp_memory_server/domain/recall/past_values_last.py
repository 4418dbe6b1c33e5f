"""Order past values of a topic behind the current one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime

from mcp_memory_server.domain.recall.documents import Match
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, is_past


def with_past_values_last(matches: Sequence[Match], memories: Mapping[str, StoredMemory], now: datetime) -> list[Match]:
    """Return the matches in their order, but past values and candidates of a topic behind its first current value."""
    over = [match.id in memories and _is_not_current(memories[match.id], now) for match in matches]
    if not any(over):
        return list(matches)
    topics = [_topic(match, memories) for match in matches]
    current = {topic for topic, past in zip(topics, over, strict=True) if topic and not past}
    postponed: defaultdict[str, list[Match]] = defaultdict(list)
    ordered: list[Match] = []
    for match, topic, past in zip(matches, topics, over, strict=True):
        if past and topic in current:
            postponed[topic].append(match)
            continue
        ordered.append(match)
        if topic in current:
            current.remove(topic)
            ordered += postponed.pop(topic, [])
    return ordered


def _topic(match: Match, memories: Mapping[str, StoredMemory]) -> str:
    memory = memories.get(match.id)
    return (memory.topic or "").casefold() if memory else ""


def _is_not_current(memory: StoredMemory, now: datetime) -> bool:
    return memory.kind is Kind.CANDIDATE or is_past(memory, now)
