"""The weight of a memory independent of the question, and the order of memories on a page."""

import math
from datetime import datetime

from mcp_memory_server.domain.recall.memories import USUAL_IMPORTANCE, Kind, StoredMemory, confidence, recency_of

CONFIDENCE_WEIGHT = 0.4
RECENCY_WEIGHT = 0.15
SUPPORT_WEIGHT, MOST_SUPPORT = 0.05, 0.25
"""How much the weight depends on confidence, recency and the number of repetitions."""
GUESS_WEIGHT = 0.7
"""The factor for candidates."""
PREFERENCE_WEIGHT = 0.3
"""The factor for preferences. They are on the first page of every conversation, and questions are seldom about them."""
ACCESS_WEIGHT, MOST_ACCESS = 0.02, 0.1
"""The bonus for memories that were returned often, and its limit, so that it does not reinforce itself for ever."""
TURN_RECENCY_WEIGHT, TURN_IMPORTANCE_WEIGHT = 0.01, 0.1
"""Conversations are asked about their past as often as about yesterday: recency only decides between equals."""

_ORDER_OF_KINDS = (Kind.PREFERENCE, Kind.FACT, Kind.FEEDBACK, Kind.PATTERN, Kind.SUMMARY, Kind.CANDIDATE, Kind.PAST)


def rank_key(memory: StoredMemory, now: datetime) -> tuple[int, float, str]:
    """Return the sort key of a memory on a page."""
    return _ORDER_OF_KINDS.index(memory.kind), -prior(memory, now), memory.id


def prior(memory: StoredMemory, now: datetime) -> float:
    """Return the weight of a memory whatever the question: up to 1, and slightly more for often repeated ones."""
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
    """Return the weight of a turn whatever the question."""
    faded = 1 - TURN_RECENCY_WEIGHT * (1 - recency_of(said_at, now))
    return faded * (1 + TURN_IMPORTANCE_WEIGHT * (importance - USUAL_IMPORTANCE))


def usage_boost(times_returned: int) -> float:
    """Return the factor for a memory that was returned this often."""
    return 1 + min(MOST_ACCESS, ACCESS_WEIGHT * math.log2(1 + times_returned))
