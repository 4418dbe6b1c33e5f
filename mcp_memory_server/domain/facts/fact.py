"""Statements and facts: their values, how confidence fades, and when a fact is true."""

from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from functools import cached_property

from mcp_memory_server.domain.facts.dates import event_day
from mcp_memory_server.domain.facts.topics import checked_topic
from mcp_memory_server.domain.kernel.scope import check_id
from mcp_memory_server.domain.kernel.text import checked_text, fingerprint
from mcp_memory_server.errors import InvalidRequestError

MAX_FACT_BYTES = 8 * 1024

TRANSIENT_LIFE = timedelta(days=14)
"""How long a transient fact is true if its last day is unknown."""

INSTANT = timedelta(microseconds=1)


class Source(StrEnum):
    """The origin of a fact: stated or confirmed by the user, imported from a file, or inferred."""

    USER_STATED = "user_stated"
    CONFIRMED = "confirmed"
    IMPORTED = "imported"
    INFERRED = "inferred"


class Permanence(StrEnum):
    """How fast the confidence in a fact fades.

    ``permanent`` never (a name, a birthday), ``durable`` over years (an employer, a city), ``transient`` within days:
    it is true until its last day, or for two weeks. ``inferred`` is assigned to inferences and cannot be requested.
    """

    PERMANENT = "permanent"
    DURABLE = "durable"
    TRANSIENT = "transient"
    INFERRED = "inferred"


class Standing(StrEnum):
    """Whether a fact is true, may be true, or was true once."""

    CURRENT = "current"
    CANDIDATE = "candidate"
    PAST = "past"


class Outcome(StrEnum):
    """The result of learning a statement. ``ended``: the fact is history, and an inference or old text does not revive
    it.
    """

    LEARNED = "learned"
    SUPPORTED = "supported"
    SUPERSEDED = "superseded"
    CANDIDATE = "candidate"
    ENDED = "ended"


_CONFIDENCE = {Source.CONFIRMED: 1.0, Source.USER_STATED: 0.9, Source.IMPORTED: 0.8, Source.INFERRED: 0.5}
_HALF_LIFE = {
    Permanence.DURABLE: timedelta(days=730),
    Permanence.TRANSIENT: timedelta(days=7),
    Permanence.INFERRED: timedelta(days=90),
}


@dataclass(frozen=True)
class Statement:
    """Something to learn: what the user said, or what was inferred. ``said_at`` is in the past for old text.

    ``since`` and ``until`` are the first and the last day on which it is true, None if unknown; ``remind_on`` is the
    day of a reminder. A fact is deleted at ``expires_at`` and not kept as history.
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
        if self.permanence is Permanence.INFERRED:
            raise InvalidRequestError(
                "permanence must be permanent, durable or transient; of a conclusion say source='inferred'"
            )
        if self.expires_at is not None and self.permanence not in (None, Permanence.TRANSIENT):
            raise InvalidRequestError(
                f"a {self.permanence} fact does not expire; make it transient or leave expires_at out"
            )
        check_order(self.since, self.until)

    @cached_property
    def fingerprint(self) -> str:
        """The id of the text: the same for texts that differ only in case, spacing and final punctuation."""
        return fingerprint(self.text)


@dataclass(frozen=True)
class Fact:
    """A statement that is stored, with how and when it was learned, and when it is true.

    ``valid_from`` is when it was learned, ``valid_to`` when memory stopped holding it as current. It is true from
    ``since`` up to and including ``until``, as far as these are known.
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
    """The fingerprint of the statement that superseded this past fact."""

    @cached_property
    def fingerprint(self) -> str:
        """The id of the text: the same for texts that differ only in case, spacing and final punctuation."""
        return fingerprint(self.text)

    @cached_property
    def ends_at(self) -> datetime | None:
        """When it stops being true by itself: after its last day, its transient period, or the announced event."""
        if self.until is not None:
            return _end_of(self.until)
        if self.permanence is Permanence.TRANSIENT:
            return self.expires_at or self.said_at + TRANSIENT_LIFE
        if self.since is None and (day := event_day(self.text, self.valid_from.date())) is not None:
            return _end_of(day)
        return None

    def is_over(self, now: datetime) -> bool:
        """Check whether it is history: superseded, ended, or past its time."""
        return self.standing is Standing.PAST or (self.ends_at is not None and now >= self.ends_at)

    @property
    def last_day(self) -> date | None:
        """The last day on which it is or was true; for a superseded or ended fact at the latest the day of that."""
        ends = [moment for moment in (self.valid_to, None if self.until else self.ends_at) if moment is not None]
        return self.until or ((min(ends) - INSTANT).date() if ends else None)


@dataclass(frozen=True)
class Tombstone:
    """A record that a statement was forgotten. It holds the fingerprint, not the text, and where it was said.

    The sketch (see `domain.mentions`) recognises other sentences about the same matter and does not hold the words.
    """

    fingerprint: str
    forgotten_at: datetime
    sketch: tuple[int, ...] = ()
    session_id: str | None = None
    turn_id: str | None = None


def check_order(since: date | None, until: date | None) -> None:
    """Refuse a period that ends before it begins."""
    if since is not None and until is not None and since > until:
        raise InvalidRequestError(f"until must not be before since, got since={since} and until={until}")


def fact_id(text: str) -> str:
    """Return the id of a statement: the same for the same text, whoever says it and whatever its topic is."""
    return fingerprint(text)


def with_text_of(source: Statement | Fact, fact: Fact) -> Fact:
    """Return a new fact with the text of the source, reusing its fingerprint if that was computed."""
    if "fingerprint" in vars(source):
        vars(fact)["fingerprint"] = source.fingerprint
    return fact


def ended(fact: Fact, moment: datetime, *, by: str | None = None, until: date | None = None) -> Fact:
    """Return the fact as history that ended at this moment, but at least an instant after it was learned.

    ``by`` is the fingerprint of the statement that supersedes it; ``until`` the last day on which it was true, if
    known.
    """
    change = max(moment, fact.valid_from + INSTANT)
    # A planned last day after the actual end does not count.
    planned = fact.until if fact.until is not None and fact.until <= change.date() else None
    last = _last_day(fact, until) or planned
    return with_text_of(fact, replace(fact, standing=Standing.PAST, valid_to=change, superseded_by=by, until=last))


def ends_on(fact: Fact, until: date) -> Fact:
    """Return the fact as true up to and including this day, unless it ends earlier or begins later."""
    return with_text_of(fact, replace(fact, until=_last_day(fact, until) or fact.until))


def confidence_at(fact: Fact, now: datetime) -> float:
    """Return the confidence at this moment: it fades with the age of the statement at the pace of its permanence."""
    half_life = _HALF_LIFE.get(fact.permanence)
    if half_life is None:
        return fact.confidence
    age = max(now - fact.said_at, timedelta())
    return fact.confidence * 0.5 ** (age / half_life)


def begins_at(fact: Fact) -> datetime:
    """Return when the fact began to be true if that is known, else when it was learned."""
    return fact.valid_from if fact.since is None else datetime.combine(fact.since, time.min, UTC)


def held_at(fact: Fact, moment: datetime) -> bool:
    """Check whether the fact was true at this moment or, if that is unknown, whether it was stored as current then."""
    if moment < begins_at(fact):
        return False
    if fact.until is not None:
        return moment < _end_of(fact.until)
    ends = [end for end in (fact.valid_to, fact.ends_at) if end is not None]
    return all(moment < end for end in ends)


def default_confidence(source: Source) -> float:
    """Return the confidence of a statement that gives none."""
    return _CONFIDENCE[source]


def _last_day(fact: Fact, until: date | None) -> date | None:
    """Return the earlier of two last days; None if the fact would end before it began."""
    if until is None or (fact.since is not None and until < fact.since):
        return None
    return until if fact.until is None else min(until, fact.until)


def _end_of(day: date) -> datetime:
    """Return the first moment after the day."""
    if day == date.max:
        return datetime.max.replace(tzinfo=UTC)
    return datetime.combine(day + timedelta(days=1), time.min, UTC)
