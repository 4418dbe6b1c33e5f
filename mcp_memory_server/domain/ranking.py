"""Which memories answer a question best, and which are the best to start a conversation with."""

import math
from collections.abc import Collection
from datetime import datetime

from mcp_memory_server.domain.memories import Kind, Known, KnownMemory, confidence, recency
from mcp_memory_server.domain.word_index import closeness, index_words
from mcp_memory_server.domain.words import words

RELEVANCE_FLOOR = 0.12
"""Below this share of the question's words, weighted by rarity, a memory does not answer it."""

FAR_BEHIND = 0.25
"""A memory with less than this share of the closest one's words only shares what everything shares."""

CONFIDENCE_WEIGHT = 0.4
RECENCY_WEIGHT = 0.15
SUPPORT_WEIGHT = 0.05
"""How much an unsure, an old or a rarely said memory loses against a sure, fresh and often repeated one."""

_ORDER_OF_KINDS = (Kind.PREFERENCE, Kind.FACT, Kind.FEEDBACK, Kind.PATTERN, Kind.SUMMARY, Kind.CANDIDATE, Kind.PAST)


def rank(known: Known, question: str, now: datetime, among: Collection[KnownMemory] | None = None) -> list[KnownMemory]:
    """Return the memories that answer the question, best first. None of them may be the right answer.

    A question without a single telling word ("what do you know about me?") is answered with the best of everything.
    """
    chosen = known.memories if among is None else list(among)
    if not words(question):
        return best_first(known, now) if among is None else sorted(chosen, key=lambda memory: _worth(memory, now))
    index = known.word_index if among is None else index_words([memory.searched_text for memory in chosen])
    close = closeness(index, question)
    floor = max(RELEVANCE_FLOOR, FAR_BEHIND * max(close.values(), default=0))
    scores = {number: near * standing(chosen[number], now) for number, near in close.items() if near >= floor}
    return [chosen[number] for number in sorted(scores, key=lambda number: (-scores[number], chosen[number].id))]


def best_first(known: Known, now: datetime) -> list[KnownMemory]:
    """Return the memories in the order in which they are worth knowing without a question.

    Worth changes over days, so the order is worked out once an hour and not for every reader.
    """
    hour = now.replace(minute=0, second=0, microsecond=0)
    if hour not in known.orders:
        known.orders.clear()
        known.orders[hour] = sorted(known.memories, key=lambda memory: _worth(memory, hour))
    return known.orders[hour]


def _worth(memory: KnownMemory, now: datetime) -> tuple[int, float, str]:
    return _ORDER_OF_KINDS.index(memory.kind), -standing(memory, now), memory.id


def standing(memory: KnownMemory, now: datetime) -> float:
    """Return how much a memory counts whatever the question: up to 1 and a little more for often repeated ones."""
    faded = 1 - CONFIDENCE_WEIGHT * (1 - confidence(memory, now)) - RECENCY_WEIGHT * (1 - recency(memory, now))
    return faded * (1 + SUPPORT_WEIGHT * math.log2(memory.support))
