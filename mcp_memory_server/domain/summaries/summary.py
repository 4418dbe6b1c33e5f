"""Summaries: what is left of a conversation when it is over, and of a week and a month of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from mcp_memory_server.domain.kernel.text import fingerprint

LIFE = timedelta(days=90)
NARRATIVE_ID = "narrative"
BUILT_IN = "built-in"

MOST_SENTENCES = 5
MOST_PREFERENCES = 8
MOST_QUESTIONS = 5
MOST_TOPICS = 8
MOST_RESOLVED = 50


class Level(StrEnum):
    """How much time a summary is about. A profile is about all of it, and is never gone."""

    SESSION = "session"
    WEEK = "week"
    MONTH = "month"
    PROFILE = "profile"


class Sentiment(StrEnum):
    """How the user sounded."""

    POSITIVE = "positive"
    NEUTRAL = "neutral"
    NEGATIVE = "negative"
    MIXED = "mixed"


@dataclass(frozen=True)
class Lesson:
    """Something that the user said and that is worth knowing, with the turn it was said in.

    What was not ``stated`` in so many words is only inferred from it.
    """

    text: str
    turn_id: str
    topic: str | None = None
    stated: bool = True


@dataclass(frozen=True)
class Draft:
    """What a summarizer makes of a conversation. ``answered`` are questions of earlier ones that this one answers."""

    discussed: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    answered: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    sentiment: Sentiment = Sentiment.NEUTRAL
    lessons: tuple[Lesson, ...] = ()


@dataclass(frozen=True)
class Summary:
    """What was discussed in a session, or in the sessions of a week or a month; ``made_by`` says what wrote it.

    ``topics`` count in how many sessions they came up. ``resolved`` are the keys of questions, of this summary or an
    earlier one, that have an answer by now.
    """

    level: Level
    id: str
    since: datetime
    until: datetime
    discussed: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    unresolved: tuple[str, ...] = ()
    resolved: frozenset[str] = frozenset()
    topics: Mapping[str, int] = field(default_factory=dict[str, int])
    sentiment: Sentiment = Sentiment.NEUTRAL
    turn_count: int = 0
    session_count: int = 1
    made_by: str = BUILT_IN

    @property
    def expires_at(self) -> datetime | None:
        """When it is gone; a profile never is."""
        return None if self.level is Level.PROFILE else (self.until + LIFE).replace(microsecond=0)

    @property
    def text(self) -> str:
        """All of it in plain words, for whoever searches."""
        parts = [" ".join(self.discussed)]
        for name, texts in (("Preferences", self.preferences), ("Open questions", self.unresolved)):
            parts += [f"{name}: {' '.join(texts)}"] if texts else []
        parts += [f"Topics: {', '.join(self.topics)}."] if self.topics else []
        return " ".join(part for part in parts if part)


def session_summary(
    draft: Draft, session_id: str, since: datetime, until: datetime, *, turn_count: int, made_by: str
) -> Summary:
    """Return the draft as the summary of a session."""
    return Summary(
        Level.SESSION,
        session_id,
        since,
        until,
        discussed=draft.discussed[:MOST_SENTENCES],
        preferences=draft.preferences[:MOST_PREFERENCES],
        unresolved=draft.unresolved[:MOST_QUESTIONS],
        resolved=frozenset(map(question_key, draft.answered)),
        topics=dict.fromkeys(draft.topics[:MOST_TOPICS], 1),
        sentiment=draft.sentiment,
        turn_count=turn_count,
        made_by=made_by,
    )


def question_key(question: str) -> str:
    """Return what a question is recognised by when it is answered."""
    return fingerprint(question)


def open_questions(summaries: list[Summary]) -> list[str]:
    """Return the questions that nobody has answered yet, the newest first, each once."""
    newest_first = sorted(summaries, key=lambda summary: summary.until, reverse=True)
    resolved: set[str] = set()
    questions: dict[str, str] = {}
    for summary in newest_first:
        for question in reversed(summary.unresolved):
            # An answer closes what was asked before it; asked again afterwards, the question is open again.
            if question_key(question) not in resolved | summary.resolved:
                questions.setdefault(question_key(question), question)
        resolved |= summary.resolved
    return list(questions.values())
