"""Check by shared words whether a sentence repeats another statement, also a forgotten one.

A forgotten statement is kept as a sketch: each word becomes one of 1,024 numbers, which dozens of words share. No word
can be read back from it, but a sentence that repeats most of them is recognised.
"""

import hashlib
from collections.abc import Collection, Iterable

from mcp_memory_server.domain.language.words import words

SKETCH_SIZE = 1024
MOST_SKETCHED = 40
SHARE_OF_WHAT_WAS_SAID = 0.5
SHARE_OF_THE_SENTENCE = 0.6

_OF_QUOTING = frozenset({"said"})


def content_words(text: str) -> frozenset[str]:
    """Return the distinct words of a text that carry meaning."""
    return frozenset(words(text))


def sketch(text: str) -> tuple[int, ...]:
    """Return the sketch that recognises sentences about the same matter, without the words."""
    return tuple(sorted({_number(word) for word in content_words(text)})[:MOST_SKETCHED])


def matches_sketch(sentence: str, forgotten: Collection[int]) -> bool:
    """Check whether a sentence repeats most of a sketched statement. In doubt it does, so that it stays forgotten."""
    wanted, found = set(forgotten), {_number(word) for word in content_words(sentence)}
    shared = len(wanted & found)
    if shared < min(2, len(wanted)) or not shared:
        return False
    return shared >= SHARE_OF_WHAT_WAS_SAID * len(wanted) or shared >= SHARE_OF_THE_SENTENCE * len(found)


def is_within_sketch(topic: str, forgotten: Collection[int]) -> bool:
    """Check whether a topic consists of sketched words."""
    found = {_number(word) for word in content_words(topic)}
    return bool(found) and found <= set(forgotten)


def is_stale(sentence: str, past: str, current: str) -> bool:
    """Check whether a sentence states a past value, going by the words that only the past statement has."""
    only_then = content_words(past) - content_words(current)
    return bool(only_then) and 2 * len(only_then & content_words(sentence)) >= len(only_then)


def is_same_matter(one: str, other: str) -> bool:
    """Check whether two texts say much the same: most words of the shorter one are in the other."""
    mine, theirs = content_words(one), content_words(other)
    shorter = min(len(mine), len(theirs))
    return bool(shorter) and len(mine & theirs) >= SHARE_OF_THE_SENTENCE * shorter


def is_covered(text: str, by: Iterable[str]) -> bool:
    """Check whether one of the other texts says all that this one says: every number, and nearly every other word."""
    mine = content_words(text) - _OF_QUOTING
    return bool(mine) and any(_covers(mine - content_words(other), len(mine)) for other in by)


def _covers(missing: frozenset[str], of: int) -> bool:
    return len(missing) <= of // 6 and not any(sign.isdigit() for word in missing for sign in word)


def _number(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % SKETCH_SIZE
