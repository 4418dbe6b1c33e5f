"""Documents: memories of every kind in the one form in which they are searched."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

USER = "user"
ASSISTANT = "assistant"
"""Speakers that a question names without a name: "I" and "you"."""

FEWEST_WORDS = 6
"""So many words say the same wherever they are said again."""

# Not from strftime, whose names follow the locale of the process.
_MONTHS = "January February March April May June July August September October November December"


@dataclass(frozen=True)
class Document:
    """A memory as search sees it: what was said, and where, when and by whom.

    ``speaker`` is ``USER``, ``ASSISTANT`` or a name. Documents of one ``session`` are each other's context, in the
    order of ``at``; a document without one stands alone. ``topic`` is a path such as ``personal/location/city``. What
    ``is_past`` no longer holds, and is found only by who names it.
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
        """What it says, whenever that was. What stands alone was not said, but is known, and only once.

        A few words ("Yes, please.") say another thing each time.
        """
        is_told_once = self.session is not None and len(self.text.split()) >= FEWEST_WORDS
        return (self.kind, self.topic, self.speaker, self.text) if is_told_once else (self.id,)

    @property
    def context(self) -> str:
        """What is searched beside the text: the topic; for what was said in a session also by whom and on which day.

        The day on which a single fact was saved says nothing about the fact.
        """
        topic = (self.topic or "").replace("/", " ")
        if self.session is None:
            return topic
        return f"{topic} {self.speaker or ''} {self.at.day} {_MONTHS.split()[self.at.month - 1]} {self.at.year}"


Prior: TypeAlias = Callable[[Sequence[str]], Sequence[float]]
"""Returns a factor for the score of each document, by id: fresh, sure and important ones above 1, others below."""


@dataclass(frozen=True)
class Match:
    """A document that was found, with the probability that it answers, and the parts of its score if wanted.

    ``also`` are other documents, the best first, that were said in the same words by the same one at other times. What
    ``is_context`` was not found itself: it stands beside something that was, and has no probability of its own.
    """

    id: str
    probability: float
    parts: Mapping[str, float]
    also: tuple[str, ...] = ()
    is_context: bool = False
