"""Whether a sentence speaks of something else that was said: told by the words they share.

What was forgotten is kept as a sketch: each word becomes one of a thousand numbers, which dozens of words share. No
word can be read back from it, but a sentence that repeats most of them is recognised.
"""

import hashlib
from collections.abc import Collection, Iterable

from mcp_memory_server.domain.language.words import words

SKETCH_SIZE = 1024
MOST_SKETCHED = 40
SHARE_OF_WHAT_WAS_SAID = 0.5
SHARE_OF_THE_SENTENCE = 0.6

_OF_QUOTING = frozenset({"said"})


def telling(text: str) -> frozenset[str]:
    """Return the words of a text that carry meaning, each once."""
    return frozenset(words(text))


def sketch(text: str) -> tuple[int, ...]:
    """Return what a sentence about the same can be recognised by, without the words."""
    return tuple(sorted({_number(word) for word in telling(text)})[:MOST_SKETCHED])


def speaks_of(sentence: str, forgotten: Collection[int]) -> bool:
    """Tell whether a sentence repeats most of what was sketched. When in doubt it does: what is forgotten stays so."""
    wanted, said = set(forgotten), {_number(word) for word in telling(sentence)}
    shared = len(wanted & said)
    if shared < min(2, len(wanted)) or not shared:
        return False
    return shared >= SHARE_OF_WHAT_WAS_SAID * len(wanted) or shared >= SHARE_OF_THE_SENTENCE * len(said)


def names(topic: str, forgotten: Collection[int]) -> bool:
    """Tell whether a topic is made of words that were sketched."""
    said = {_number(word) for word in telling(topic)}
    return bool(said) and said <= set(forgotten)


def is_stale(sentence: str, past: str, current: str) -> bool:
    """Tell whether a sentence says what was true before, going by the words that only the earlier statement has."""
    only_then = telling(past) - telling(current)
    return bool(only_then) and 2 * len(only_then & telling(sentence)) >= len(only_then)


def same_matter(one: str, other: str) -> bool:
    """Tell whether two texts say much the same: most words of the shorter one are in the other."""
    mine, theirs = telling(one), telling(other)
    shorter = min(len(mine), len(theirs))
    return bool(shorter) and len(mine & theirs) >= SHARE_OF_THE_SENTENCE * shorter


def is_covered(text: str, by: Iterable[str]) -> bool:
    """Tell whether one of the others says all that this text says: every number, and nearly every other word."""
    mine = telling(text) - _OF_QUOTING
    return bool(mine) and any(_covers(mine - telling(other), len(mine)) for other in by)


def _covers(missing: frozenset[str], of: int) -> bool:
    return len(missing) <= of // 6 and not any(sign.isdigit() for word in missing for sign in word)


def _number(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode()).digest()[:4]) % SKETCH_SIZE
