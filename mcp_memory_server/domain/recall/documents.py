"""Documents and matches: the form in which memories of every kind are searched and found."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeAlias

USER = "user"
ASSISTANT = "assistant"
"""Speakers that a question refers to as "I" and "you"."""

FEWEST_WORDS = 6
"""Texts of at least so many words are duplicates if they are the same; shorter ones mean something else each time."""

# Not from strftime, whose names follow the locale of the process.
_MONTHS = "January February March April May June July August September October November December"


@dataclass(frozen=True)
class Document:
    """A memory as search sees it: its text, and when, where and by whom it was said.

    ``speaker`` is ``USER``, ``ASSISTANT`` or a name. Documents of one ``session`` are each other's context, in the
    order of ``at``; one without a session stands alone. ``topic`` is a path such as ``personal/location/city``. A
    document that ``is_past`` is no longer true, and is only found by a search that names it.
    """

    id: str
    text: str
    kind: str
    at: datetime
    speaker: str | None = None
    session: str | None = None
    topic: str | None = None
    is_past: bool = False

    @property
    def statement(self) -> tuple[object, ...]:
        """The key of the statement: two documents with the same key are duplicates.

        A document outside of sessions has no duplicates, nor has one of a few words ("Yes, please.").
        """
        may_be_duplicate = self.session is not None and len(self.text.split()) >= FEWEST_WORDS
        return (self.kind, self.topic, self.speaker, self.text) if may_be_duplicate else (self.id,)

    @property
    def context(self) -> str:
        """What is searched beside the text: the topic and, for a document of a session, the speaker and the date.

        The day on which a fact was saved says nothing about the fact.
        """
        topic = (self.topic or "").replace("/", " ")
        if self.session is None:
            return topic
        return f"{topic} {self.speaker or ''} {self.at.day} {_MONTHS.split()[self.at.month - 1]} {self.at.year}"


@dataclass(frozen=True)
class ScoreSample:
    """How documents of one family score in general: how many were looked at, their sum, and that of the squares."""

    documents: int = 0
    total: float = 0.0
    squares: float = 0.0

    def __add__(self, other: "ScoreSample") -> "ScoreSample":
        return ScoreSample(self.documents + other.documents, self.total + other.total, self.squares + other.squares)


@dataclass(frozen=True)
class Statistics:
    """How many documents an index holds, outside of sessions and in them, and how many of them hold each asked word.

    ``samples`` say how they score, for each question by family. With the statistics of the indexes beside it, an index
    is searched as if all were one: a document says no more about cats because it is alone in its index.
    """

    alone: int = 0
    in_sessions: int = 0
    holding: Mapping[str, int] = field(default_factory=dict[str, int])
    samples: "Samples" = ()

    def __add__(self, other: "Statistics") -> "Statistics":
        words = {*self.holding, *other.holding}
        return Statistics(
            self.alone + other.alone,
            self.in_sessions + other.in_sessions,
            {word: self.holding.get(word, 0) + other.holding.get(word, 0) for word in words},
            _added(self.samples, other.samples) if self.samples and other.samples else self.samples or other.samples,
        )


Samples: TypeAlias = tuple[tuple[ScoreSample, ...], ...]
"""For each question, how the documents of each family score."""


def _added(one: Samples, other: Samples) -> Samples:
    return tuple(
        tuple(mine + theirs for mine, theirs in zip(some, others, strict=True))
        for some, others in zip(one, other, strict=True)
    )


NO_STATISTICS = Statistics()

Prior: TypeAlias = Callable[[Sequence[str]], Sequence[float]]
"""Return a factor for the score of each document, by id: over 1 for fresh, certain and important ones."""


@dataclass(frozen=True)
class Match:
    """A document that was found, with the probability that it answers the question, and the parts of its score if
    wanted.

    ``also`` are other documents, best first, with the same words by the same speaker at other times. A match that
    ``is_context`` was not found itself: it is next to a match in its conversation, and has no probability of its own.
    """

    id: str
    probability: float
    parts: Mapping[str, float]
    also: tuple[str, ...] = ()
    is_context: bool = False
