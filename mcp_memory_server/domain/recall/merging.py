"""Merge the rankings of several owners into one."""

from collections.abc import Callable, Iterator, Sequence
from heapq import merge
from typing import TypeVar

from mcp_memory_server.domain.recall.documents import Match
from mcp_memory_server.domain.recall.likelihood import RELATED_FROM, most_weak

T = TypeVar("T")


def merge_rankings(
    rankings: Sequence[Sequence[T]], match_of: Callable[[T], Match], *, few_weak: bool = True
) -> list[T]:
    """Return all entries, most probable first; each ranking keeps its order.

    Probabilities of different rankings can be compared. An entry that stands lower than its probability (an earlier
    value of a fact, a turn beside a match) counts as much as the one before it. With ``few_weak`` no more weak matches
    remain than in one ranking.
    """
    if len(rankings) == 1:
        return list(rankings[0])
    ordered = [entry for _, entry in merge(*(_with_order(each, match_of) for each in rankings), key=lambda one: one[0])]
    return _with_few_weak(ordered, match_of) if few_weak else ordered


def _with_order(ranking: Sequence[T], match_of: Callable[[T], Match]) -> Iterator[tuple[float, T]]:
    lowest = 1.0
    for entry in ranking:
        lowest = min(lowest, match_of(entry).probability)
        yield -lowest, entry


def _with_few_weak(entries: Sequence[T], match_of: Callable[[T], Match]) -> list[T]:
    matches = [match_of(entry) for entry in entries]
    clear = [match.probability for match in matches if not match.is_context and match.probability >= RELATED_FROM]
    room, kept = most_weak(clear), list[T]()
    for entry, match in zip(entries, matches, strict=True):
        if not match.is_context and match.probability < RELATED_FROM:
            room -= 1
            if room < 0:
                continue
        kept.append(entry)
    return kept
