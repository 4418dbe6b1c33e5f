"""Facts: what is known, how sure it is, and what a new statement does to what was known before."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import cached_property

from mcp_memory_server.domain.fact_dates import event_day
from mcp_memory_server.domain.scope import check_id
from mcp_memory_server.domain.text import checked_text, fingerprint
from mcp_memory_server.domain.topics import checked_topic
from mcp_memory_server.errors import ForgottenError, InvalidRequestError

MAX_FACT_BYTES = 8 * 1024

TRANSIENT_LIFE = timedelta(days=14)
LONGEST_TRANSIENT_LIFE = timedelta(days=30)

SUPPORT_GAIN = 0.3
"""Each repetition closes this share of the distance to certainty."""

_INSTANT = timedelta(microseconds=1)


class Source(StrEnum):
    """Where a fact comes from."""

    USER_STATED = "user_stated"
    CONFIRMED = "confirmed"
    INFERRED = "inferred"


class Permanence(StrEnum):
    """How long a fact lives and how its confidence fades."""

    PERMANENT = "permanent"
    DURABLE = "durable"
    TRANSIENT = "transient"
    INFERRED = "inferred"


class Standing(StrEnum):
    """Whether a fact holds, only might hold, or held once."""

    CURRENT = "current"
    CANDIDATE = "candidate"
    PAST = "past"


class Outcome(StrEnum):
    """What learning a statement did."""

    LEARNED = "learned"
    SUPPORTED = "supported"
    SUPERSEDED = "superseded"
    CANDIDATE = "candidate"


_CONFIDENCE = {Source.CONFIRMED: 1.0, Source.USER_STATED: 0.9, Source.INFERRED: 0.5}
_HALF_LIFE = {
    Permanence.DURABLE: timedelta(days=730),
    Permanence.TRANSIENT: timedelta(days=7),
    Permanence.INFERRED: timedelta(days=90),
}


@dataclass(frozen=True)
class Statement:
    """Something that was said or concluded, to be learned. ``said_at`` is older than now for old text.

    ``since`` and ``until`` are the first and the last day on which it is true, as far as they are known; on
    ``remind_on`` the user wants to be reminded of it. What ``expires_at`` a moment is removed then, and not kept as
    history.
    """

    text: str
    topic: str | None = None
    source: Source = Source.USER_STATED
    confidence: float | None = None
    permanence: Permanence | None = None
    said_at: datetime | None = None
    expires_at: datetime | None = None
    session_id: str | None = None
    turn_id: str | None = None
    since: date | None = None
    until: date | None = None
    remind_on: date | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", checked_text("fact", self.text, MAX_FACT_BYTES))
        if self.topic is not None:
            checked_topic(self.topic)
        if self.confidence is not None and not 0 < self.confidence <= 1:
            raise InvalidRequestError(f"confidence must be over 0 and at most 1, got {self.confidence!r}")
        for name, value in (("session_id", self.session_id), ("turn_id", self.turn_id)):
            if value is not None:
                check_id(name, value)
        for name, moment in (("said_at", self.said_at), ("expires_at", self.expires_at)):
            if moment is not None and moment.tzinfo is None:
                raise InvalidRequestError(f"{name} must have a time zone, got {moment.isoformat()!r}")
        if self.expires_at is not None and self.permanence not in (None, Permanence.TRANSIENT):
            raise InvalidRequestError(
                f"a {self.permanence} fact does not expire; make it transient or leave expires_at out"
            )
        check_order(self.since, self.until)

    @property
    def fingerprint(self) -> str:
        """What is the same for the same statement in other typing."""
        return fingerprint(self.text)


@dataclass(frozen=True)
class Fact:
    """Something that is known about the user, with how and when it came to be known, and when it is true.

    Memory has held this version from ``valid_from`` until ``valid_to``: ``valid_from`` is when it was learned. It is
    true from ``since`` up to and including ``until``, as far as that is known.
    """

    id: str
    text: str
    topic: str | None
    source: Source
    confidence: float
    permanence: Permanence
    support: int
    valid_from: datetime
    said_at: datetime
    valid_to: datetime | None = None
    expires_at: datetime | None = None
    session_id: str | None = None
    turn_id: str | None = None
    standing: Standing = Standing.CURRENT
    since: date | None = None
    until: date | None = None
    remind_on: date | None = None
    superseded_by: str | None = None
    """The fingerprint of the statement that took its place, of a past fact that was superseded."""

    @cached_property
    def fingerprint(self) -> str:
        """What is the same for the same statement in other typing."""
        return fingerprint(self.text)

    @cached_property
    def over_from(self) -> datetime | None:
        """When it is over by itself: after its last day, its transient period, or the event that it announces."""
        if self.until is not None:
            return _end_of(self.until)
        if self.permanence is Permanence.TRANSIENT:
            return self.expires_at or self.said_at + TRANSIENT_LIFE
        if self.since is None and (day := event_day(self.text, self.valid_from.date())) is not None:
            return _end_of(day)
        return None

    def is_over(self, now: datetime) -> bool:
        """Tell whether it is history: superseded, ended, or past its time."""
        return self.standing is Standing.PAST or (self.over_from is not None and now >= self.over_from)

    @property
    def last_day(self) -> date | None:
        """The last day on which it is or was true; of what was superseded or ended, at the latest the day of that."""
        ends = [moment for moment in (self.valid_to, None if self.until else self.over_from) if moment is not None]
        return self.until or ((min(ends) - _INSTANT).date() if ends else None)


@dataclass(frozen=True)
class Tombstone:
    """The mark that a statement was forgotten. It keeps a fingerprint, not the text, and where it was said.

    By the sketch (see `domain.mentions`) other sentences about the same are recognised; it does not hold the words.
    """

    fingerprint: str
    forgotten_at: datetime
    sketch: tuple[int, ...] = ()
    session_id: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True)
class Learning:
    """What a statement does: the fact to keep, and what changes beside it."""

    outcome: Outcome
    fact: Fact
    superseded: Fact | None = None
    stands: Fact | None = None
    lifts_tombstone: bool = False
    drops_candidate: bool = False


def check_order(since: date | None, until: date | None) -> None:
    """Refuse a time that ends before it begins."""
    if since is not None and until is not None and since > until:
        raise InvalidRequestError(f"until must not be before since, got since={since} and until={until}")


def fact_id(topic: str | None, text: str) -> str:
    """Return the id of a statement: the same text under the same topic has the same id, whoever says it again."""
    return fingerprint(text) if topic is None else fingerprint(f"{topic}\n{fingerprint(text)}")


def learn(
    statement: Statement,
    now: datetime,
    *,
    current: Fact | None = None,
    candidate: Fact | None = None,
    tombstone: Tombstone | None = None,
) -> Learning:
    """Decide what the statement does to what is known about its topic.

    ``candidate`` is the same statement, noted earlier as only possible.

    Raises:
        ForgottenError: The user asked to forget it, and has not confirmed it since.
        InvalidRequestError: It would be expired already, or live longer than a transient fact may.
    """
    if tombstone is not None and not _outweighs(statement, tombstone):
        raise ForgottenError(
            f"the user had this forgotten on {tombstone.forgotten_at:%Y-%m-%d}, so it was not learned again. "
            "If the user now asks to remember it, repeat the call with source='confirmed'"
        )
    lifts = tombstone is not None
    if current is not None and current.fingerprint == statement.fingerprint:
        fact = _supported(current, statement, now)
        return Learning(Outcome.SUPPORTED, fact, lifts_tombstone=lifts, drops_candidate=candidate is not None)
    if current is not None and not may_replace(statement, current, now):
        fact = _supported(candidate, statement, now) if candidate else _new(statement, now)
        fact = replace(fact, standing=Standing.CANDIDATE)
        return Learning(Outcome.CANDIDATE, fact, stands=current, lifts_tombstone=lifts)
    fact = _supported(candidate, statement, now) if candidate else _new(statement, now)
    if current is None:
        fact = replace(fact, standing=Standing.CURRENT)
        return Learning(Outcome.LEARNED, fact, lifts_tombstone=lifts, drops_candidate=candidate is not None)
    # Strictly later than the old beginning, even when the clock stepped back: history keeps its order.
    change = max(fact.valid_from, current.valid_from + _INSTANT)
    fact = replace(fact, standing=Standing.CURRENT, valid_from=change)
    past = ended(current, change)
    return Learning(Outcome.SUPERSEDED, fact, past, lifts_tombstone=lifts, drops_candidate=candidate is not None)


def ended(fact: Fact, moment: datetime) -> Fact:
    """Return the fact as history that held until this moment, and for an instant at least."""
    return replace(fact, standing=Standing.PAST, valid_to=max(moment, fact.valid_from + _INSTANT))


def confidence_at(fact: Fact, now: datetime) -> float:
    """Return how sure the fact is now: what was said fades at the pace of its permanence."""
    half_life = _HALF_LIFE.get(fact.permanence)
    if half_life is None:
        return fact.confidence
    age = max(now - fact.said_at, timedelta())
    return fact.confidence * 0.5 ** (age / half_life)


def held_at(fact: Fact, moment: datetime) -> bool:
    """Tell whether the fact was the one that held at this moment."""
    return fact.valid_from <= moment and (fact.valid_to is None or moment < fact.valid_to)


def may_replace(statement: Statement, known: Fact, now: datetime) -> bool:
    """Tell whether it is strong and fresh enough: an inference replaces only a weaker one, old text nothing newer."""
    if statement.said_at is not None and statement.said_at < known.valid_from:
        return False
    if statement.source is not Source.INFERRED:
        return True
    return known.source is Source.INFERRED and _confidence(statement) >= confidence_at(known, now)


def _end_of(day: date) -> datetime:
    """Return the first moment after the day."""
    return (
        datetime.combine(day, time.min, UTC) + timedelta(days=1) if day < date.max else datetime.max.replace(tzinfo=UTC)
    )


def _outweighs(statement: Statement, tombstone: Tombstone) -> bool:
    said_before = statement.said_at is not None and statement.said_at <= tombstone.forgotten_at
    return statement.source is Source.CONFIRMED and not said_before


def _confidence(statement: Statement) -> float:
    return _CONFIDENCE[statement.source] if statement.confidence is None else statement.confidence


def _permanence(statement: Statement) -> Permanence:
    if statement.permanence is not None:
        return statement.permanence
    if statement.expires_at is not None:
        return Permanence.TRANSIENT
    return Permanence.INFERRED if statement.source is Source.INFERRED else Permanence.DURABLE


def _new(statement: Statement, now: datetime) -> Fact:
    said_at = min(statement.said_at or now, now)
    permanence = _permanence(statement)
    return Fact(
        id=fact_id(statement.topic, statement.text),
        text=statement.text,
        topic=statement.topic,
        source=statement.source,
        confidence=_confidence(statement),
        permanence=permanence,
        support=1,
        valid_from=said_at,
        said_at=said_at,
        expires_at=_expiry(statement, permanence, now),
        session_id=statement.session_id,
        turn_id=statement.turn_id,
        since=statement.since,
        until=statement.until,
        remind_on=statement.remind_on,
    )


def _supported(fact: Fact, statement: Statement, now: datetime) -> Fact:
    """Return the known fact after it was said once more: surer, fresher, of the better source, under its new topic."""
    stronger = max((fact.source, statement.source), key=lambda source: _CONFIDENCE[source])
    permanence = statement.permanence or (_permanence(statement) if stronger is not fact.source else fact.permanence)
    confidence = max(fact.confidence, _confidence(statement))
    return replace(
        fact,
        id=fact_id(statement.topic, statement.text),
        topic=statement.topic,
        source=stronger,
        permanence=permanence,
        support=fact.support + 1,
        confidence=round(confidence + (1 - confidence) * SUPPORT_GAIN, 4),
        said_at=max(fact.said_at, min(statement.said_at or now, now)),
        expires_at=_expiry(statement, permanence, now),
        session_id=statement.session_id or fact.session_id,
        turn_id=statement.turn_id or fact.turn_id,
        since=statement.since or fact.since,
        until=statement.until or fact.until,
        remind_on=statement.remind_on or fact.remind_on,
    )


def _expiry(statement: Statement, permanence: Permanence, now: datetime) -> datetime | None:
    if permanence is not Permanence.TRANSIENT:
        return None
    expires_at = statement.expires_at or (statement.said_at or now) + TRANSIENT_LIFE
    if not now < expires_at <= now + LONGEST_TRANSIENT_LIFE:
        raise InvalidRequestError(
            f"a transient fact lives at most {LONGEST_TRANSIENT_LIFE.days} days from now, "
            f"got an expiry of {expires_at.isoformat(timespec='minutes')}"
        )
    return expires_at.replace(microsecond=0)
