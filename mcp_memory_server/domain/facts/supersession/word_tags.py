"""The tags of words and phrases in a short statement, the same for all languages."""

from collections.abc import Iterator, Mapping
from enum import IntEnum, auto
from typing import NamedTuple


class Tag(IntEnum):
    """The role of a word or phrase in a statement. Integers, because the hash of a plain Enum is slow."""

    WORD = auto()
    """A word that the vocabulary does not know: content."""
    NUMBER = auto()
    YEAR = auto()
    TIME = auto()
    """A weekday, a month, a word for a time of day."""
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
    """A word before the replacement: "replaced X *with* Y"."""
    PREPOSITION = auto()
    SINCE = auto()
    """A word that begins a circumstance: since, because, after."""
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
    """Limited to some times, or to a period."""
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
    """A role that one person at a time has for the owner: boss, dentist."""
    RELATIVE = auto()
    """A person or animal of which there may be several: a son, a friend, a cat."""
    ATTRIBUTE = auto()
    """A thing that exists once: name, address, laptop."""
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
    """Contracted words and what they stand for: "am" for "an dem"."""


Phrase = tuple[str, ...]
SELF, SHE, HE, THEY, ANYONE = "user", "she", "he", "they", "anyone"
"""The owner that a word names. ANYONE may be he, she or they, as in Spanish *su*."""


def split_phrases(text: str) -> Iterator[Phrase]:
    """Yield the phrases of one entry, as words."""
    for phrase in text.replace("\n", "|").split("|"):
        if words := tuple(phrase.split()):
            yield words


def word_set(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())
