"""What words and phrases do in a short statement, whatever the language."""

from collections.abc import Iterator, Mapping
from enum import IntEnum, auto
from typing import NamedTuple


class Tag(IntEnum):
    """The part of a word or a phrase in a statement. Integers, because the hash of a plain Enum is slow."""

    WORD = auto()
    """Anything the vocabulary does not know: content."""
    NUMBER = auto()
    YEAR = auto()
    TIME = auto()
    """A weekday, a month, a word of the clock."""
    STOP = auto()
    COMMA = auto()
    COLON = auto()
    POSSESSIVE = auto()
    AND = auto()
    ARTICLE = auto()
    OWNER = auto()
    """The user, or a pronoun."""
    NEW = auto()
    TO = auto()
    FROM = auto()
    BY = auto()
    """What the replacement follows: "replaced X *with* Y"."""
    PREPOSITION = auto()
    SINCE = auto()
    """Begins what is only circumstance: since, because, after."""
    FILLER = auto()
    ALSO = auto()
    NOW = auto()
    AGAIN = auto()
    NOT = auto()
    NO_LONGER = auto()
    INSTEAD_OF = auto()
    STOPPED = auto()
    SOLD = auto()
    CANCELLED = auto()
    REPLACED = auto()
    CHANGED = auto()
    MOVED = auto()
    PAST = auto()
    PLANNED = auto()
    LIMITED = auto()
    """Only at some times, or only for a while."""
    IS = auto()
    HAS = auto()
    HOLDS = auto()
    """A verb that may have one value at a time, or several."""
    MANY = auto()
    """A verb with several values at a time: speaks, likes."""
    DISLIKES = auto()
    PREFERS = auto()
    AMOUNTS = auto()
    LIVES = auto()
    WORKS = auto()
    JOINED = auto()
    JOBLESS = auto()
    CALLED = auto()
    REPORTS = auto()
    DRIVES = auto()
    TURNED = auto()
    DUE = auto()
    HAPPENS = auto()
    SINGLE = auto()
    DATING = auto()
    ENGAGED = auto()
    MARRIED = auto()
    PARTED = auto()
    FAVOURITE = auto()
    PERSON = auto()
    """A role that one person has at a time for somebody: boss, dentist."""
    RELATIVE = auto()
    """Somebody of whom there may be several: a son, a friend, a cat."""
    ATTRIBUTE = auto()
    """What there is one of: name, address, laptop."""
    EVENT = auto()
    DEADLINE = auto()


class Language(NamedTuple):
    """The vocabulary of one language.

    Phrases are separated by ``|`` or the end of a line. Nouns on one line mean the same.
    """

    phrases: Mapping[Tag, str]
    nouns: Mapping[Tag, str]
    owners: Mapping[str, str]
    contractions: Mapping[str, str] = {}
    """Words that are read as others: "am" as "an dem"."""


Phrase = tuple[str, ...]
SELF, SHE, HE, THEY, ANYONE = "user", "she", "he", "they", "anyone"
"""Whom an owner word names. ANYONE may be he, she or they, as in Spanish *su*."""


def split_phrases(text: str) -> Iterator[Phrase]:
    """Yield the phrases of one entry, as words."""
    for phrase in text.replace("\n", "|").split("|"):
        if words := tuple(phrase.split()):
            yield words


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())
