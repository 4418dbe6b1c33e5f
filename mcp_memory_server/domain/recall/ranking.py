"""How much a memory counts whatever is asked, and which are the best to start a conversation with."""

import math
from datetime import datetime

from mcp_memory_server.domain.recall.memories import USUAL_IMPORTANCE, Kind, StoredMemory, confidence, recency_of

CONFIDENCE_WEIGHT = 0.4
RECENCY_WEIGHT = 0.15
SUPPORT_WEIGHT, MOST_SUPPORT = 0.05, 0.25
"""How much an unsure, an old or a rarely said memory loses against a sure, fresh and often repeated one."""
GUESS_WEIGHT = 0.7
"""What might be true, against what was said."""
PREFERENCE_WEIGHT = 0.3
"""How the user wants things done is on the first page of every conversation, and seldom what a question is about."""
ACCESS_WEIGHT, MOST_ACCESS = 0.02, 0.1
"""How much one gains that is often told, and at the most: what was told once must not be told for ever."""
TURN_RECENCY_WEIGHT, TURN_IMPORTANCE_WEIGHT = 0.01, 0.1
"""Conversations are asked about their past as often as about yesterday: recency only decides between equals."""

_ORDER_OF_KINDS = (Kind.PREFERENCE, Kind.FACT, Kind.FEEDBACK, Kind.PATTERN, Kind.SUMMARY, Kind.CANDIDATE, Kind.PAST)


def worth(memory: StoredMemory, now: datetime) -> tuple[int, float, str]:
    """Return what puts memories in the order in which they are worth knowing."""
    return _ORDER_OF_KINDS.index(memory.kind), -prior(memory, now), memory.id


def prior(memory: StoredMemory, now: datetime) -> float:
    """Return how much a memory counts whatever the question: up to 1 and a little more for often repeated ones."""
    if memory.kind is Kind.TURN:
        return prior_of_turn(memory.said_at, memory.importance, now)
    fresh = recency_of(memory.said_at, now)
    faded = 1 - CONFIDENCE_WEIGHT * (1 - confidence(memory, now)) - RECENCY_WEIGHT * (1 - fresh)
    if memory.kind is Kind.CANDIDATE:
        faded *= GUESS_WEIGHT
    if memory.kind is Kind.PREFERENCE:
        faded *= PREFERENCE_WEIGHT
    return faded * (1 + min(MOST_SUPPORT, SUPPORT_WEIGHT * math.log2(memory.support)))


def prior_of_turn(said_at: datetime, importance: float, now: datetime) -> float:
    """Return how much a turn counts whatever the question."""
    faded = 1 - TURN_RECENCY_WEIGHT * (1 - recency_of(said_at, now))
    return faded * (1 + TURN_IMPORTANCE_WEIGHT * (importance - USUAL_IMPORTANCE))


def usage_boost(times_returned: int) -> float:
    """Return the factor for a memory that was told so often."""
    return 1 + min(MOST_ACCESS, ACCESS_WEIGHT * math.log2(1 + times_returned))
