"""Decide what a new statement does to the stored facts: add, support, supersede, or keep as a candidate."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta

from mcp_memory_server.domain.facts.dates import change_day
from mcp_memory_server.domain.facts.fact import (
    INSTANT,
    Fact,
    Outcome,
    Permanence,
    Source,
    Standing,
    Statement,
    Tombstone,
    check_order,
    confidence_at,
    default_confidence,
    ended,
    ends_on,
    with_text_of,
)
from mcp_memory_server.domain.facts.supersession import is_update
from mcp_memory_server.domain.facts.topics import narrower, same_topic
from mcp_memory_server.errors import ForgottenError, InvalidRequestError

SUPPORT_GAIN = 0.3
"""Each repetition closes this share of the distance to certainty."""
LONGEST_EXPIRY = timedelta(days=30)
"""The longest life of a fact that is deleted at a given moment instead of becoming history."""


@dataclass(frozen=True)
class Change:
    """The change of a stored fact: into history, to another last day, or deleted if ``after`` is None."""

    before: Fact
    after: Fact | None


@dataclass(frozen=True)
class Learning:
    """The result of a statement: the fact to store and the changes of other facts.

    ``overwritten`` is the stored version of the same statement that the fact is written over. ``stands`` is a current
    fact that was kept because the statement is weaker. With the outcome ``ENDED`` nothing is to be written.
    """

    outcome: Outcome
    fact: Fact
    overwritten: Fact | None = None
    changes: tuple[Change, ...] = ()
    stands: Fact | None = None
    lifts_tombstone: bool = False

    @property
    def superseded(self) -> tuple[Fact, ...]:
        """The facts that the statement superseded, as history."""
        own = self.fact.fingerprint
        return tuple(one.after for one in self.changes if one.after is not None and one.after.fingerprint != own)


def learn(
    statement: Statement,
    now: datetime,
    *,
    related: Sequence[Fact] = (),
    named: Sequence[Fact] = (),
    candidate: Fact | None = None,
    past: Fact | None = None,
    tombstone: Tombstone | None = None,
) -> Learning:
    """Decide what the statement does to the stored facts.

    ``related`` are the current facts with the same text or topic, ``named`` those that the statement says it replaces.
    ``candidate`` is the same statement stored earlier as a candidate, ``past`` the same as history.

    A fact under the same topic is superseded if the statement gives another value of the same thing (`is_update`);
    otherwise both are current. A fact that the statement may not replace stays, and the statement becomes a candidate.

    Raises:
        ForgottenError: The user asked to forget it, and has not confirmed it since.
        InvalidRequestError: Its dates contradict those of the stored facts.
    """
    if tombstone is not None and not _overrides_tombstone(statement, tombstone):
        raise ForgottenError(
            f"the user had this forgotten on {tombstone.forgotten_at:%Y-%m-%d}, so it was not learned again. "
            "If the user now asks to remember it, repeat the call with source='confirmed'"
        )
    same, repetitions = _same(statement, [*named, *related])
    if (overwritten := _ended_before(statement, same, past, now)) is not None:
        return Learning(Outcome.ENDED, overwritten)
    is_named = same is not None and same in named
    lifts = tombstone is not None
    others = _others(statement, named, related, now)
    stronger = [one for one in others if not may_replace(statement, one, now)]
    if same is None and stronger:
        first = _first_version(statement, candidate, now)
        fact = with_text_of(first, replace(first, standing=Standing.CANDIDATE))
        guesses = tuple(Change(one, None) for one in others if one.standing is Standing.CANDIDATE)
        return Learning(Outcome.CANDIDATE, fact, candidate, guesses, stronger[0], lifts)
    is_renewed = same is not None and _is_renewed(statement, same, now)
    if same is None or is_renewed:
        first = _first_version(statement, None if is_renewed else candidate, now)
        fact = with_text_of(first, replace(first, standing=Standing.CURRENT))
        if past is not None and statement.until is not None and statement.since is None:
            fact = with_text_of(fact, replace(fact, since=past.since))  # the statement gives a new end only
    else:
        fact = _supported(same, statement, now, repetitions, is_named=is_named)
    replaced = [one for one in others if one not in stronger]
    fact, changes = _apply_to_others(statement, fact, replaced, now, is_new=same is None)
    changes += [Change(one, None) for one in (candidate, *repetitions) if one is not None]
    if same is not None and is_renewed:
        fact = with_text_of(fact, replace(fact, topic=narrower(same.topic, fact.topic)))
        changes.append(Change(same, ended(same, same.ends_at or now)))
    superseded = any(one.after is not None and one.before is not same for one in changes)
    if same is not None and not is_renewed:
        outcome = Outcome.SUPPORTED
    else:
        outcome = Outcome.SUPERSEDED if superseded else Outcome.LEARNED
    return Learning(outcome, fact, same or candidate, tuple(changes), lifts_tombstone=lifts)


def may_replace(statement: Statement, fact: Fact, now: datetime) -> bool:
    """Check whether the statement may replace the fact: an inference only a weaker one, old text nothing newer."""
    if fact.standing is Standing.CANDIDATE:
        return True
    if statement.said_at is not None and statement.said_at < fact.valid_from:
        return False
    if statement.source is not Source.INFERRED:
        is_from_turn = statement.turn_id is not None and statement.said_at is not None
        # What was learned at the end of a session never replaces what the user confirmed.
        return not (is_from_turn and fact.source is Source.CONFIRMED and statement.source is not Source.CONFIRMED)
    return fact.source is Source.INFERRED and _confidence(statement) >= confidence_at(fact, now)


def _same(statement: Statement, facts: Sequence[Fact]) -> tuple[Fact | None, list[Fact]]:
    """Return the current fact with this text, and its duplicates: earlier releases stored one per topic."""
    current = [one for one in dict.fromkeys(facts) if one.standing is Standing.CURRENT]
    with_same_text = [one for one in current if one.fingerprint == statement.fingerprint]
    if not with_same_text:
        return None, []
    same = max(with_same_text, key=lambda one: (same_topic(one.topic, statement.topic), one.topic is not None))
    repeats = [one for one in with_same_text if one.topic is None or same_topic(one.topic, same.topic)]
    return same, [one for one in repeats if one is not same]


def _ended_before(statement: Statement, same: Fact | None, past: Fact | None, now: datetime) -> Fact | None:
    """Return the ended fact that this statement does not revive: it is only an inference, or older than the end."""
    is_inferred = statement.source is Source.INFERRED
    if same is not None:
        return same if is_inferred and same.is_over(now) else None
    if past is None or past.valid_to is None:
        return None
    if statement.said_at is not None and statement.said_at < past.valid_to:
        return past
    was_sure = past.source is not Source.INFERRED or past.superseded_by is None
    return past if is_inferred and was_sure else None


def _others(statement: Statement, named: Sequence[Fact], related: Sequence[Fact], now: datetime) -> list[Fact]:
    """Return the facts that the statement supersedes: those it names, and those of which it gives another value."""
    own = statement.fingerprint
    chosen = [one for one in named if one.fingerprint != own or one.standing is Standing.CANDIDATE]
    if _new(statement, now).is_over(now):
        return chosen  # what was true once changes nothing about what is true now
    return chosen + [one for one in related if one not in named and _is_updated(statement, one, now)]


def _is_updated(statement: Statement, old: Fact, now: datetime) -> bool:
    if old.standing is not Standing.CURRENT or old.fingerprint == statement.fingerprint or old.is_over(now):
        return False
    if not same_topic(old.topic, statement.topic):
        return False
    if old.since is not None and old.since > (statement.since or now.date()):
        return False  # it begins later than the new statement
    return is_update(statement.text, old.text, statement.topic)


def _apply_to_others(
    statement: Statement, fact: Fact, others: Sequence[Fact], now: datetime, *, is_new: bool
) -> tuple[Fact, list[Change]]:
    """Return the fact, which begins after those it supersedes, and the changes of these."""
    guesses = [Change(one, None) for one in others if one.standing is Standing.CANDIDATE]
    sure = [one for one in others if one.standing is not Standing.CANDIDATE]
    since = statement.since or (_change_day(statement, sure, now) if is_new else None)
    until = None if since in (None, date.min) else since - timedelta(days=1)
    if until is not None and until >= now.date():  # the superseded facts are true until then
        later = [Change(one, ends_on(one, until)) for one in sure]
        return fact, guesses + [one for one in later if one.after != one.before]
    moment = fact.valid_from if is_new else fact.said_at
    # Strictly later than each beginning, even if the clock stepped back, so that history keeps its order.
    moment = max([moment, *(one.valid_from + INSTANT for one in sure)])
    if is_new and sure:
        fact = with_text_of(fact, replace(fact, valid_from=moment, since=since))
    by = fact.fingerprint
    return fact, guesses + [Change(one, ended(one, moment, by=by, until=until)) for one in sure]


def _change_day(statement: Statement, replaced: Sequence[Fact], now: datetime) -> date | None:
    """Return the day that the statement names for a change; in other statements a date means something else."""
    is_change = bool(replaced) and all(is_update(statement.text, one.text, statement.topic) for one in replaced)
    return change_day(statement.text, now.date()) if is_change else None


def _is_renewed(statement: Statement, same: Fact, now: datetime) -> bool:
    """Check whether a fact that was over is true once more, rather than mentioned again."""
    if not same.is_over(now) or _new(statement, now).is_over(now):
        return False
    return same.until is not None or same.permanence is Permanence.TRANSIENT or statement.until is not None


def _overrides_tombstone(statement: Statement, tombstone: Tombstone) -> bool:
    said_before = statement.said_at is not None and statement.said_at <= tombstone.forgotten_at
    return statement.source is Source.CONFIRMED and not said_before


def _confidence(statement: Statement) -> float:
    return default_confidence(statement.source) if statement.confidence is None else statement.confidence


def _permanence(statement: Statement) -> Permanence:
    if statement.permanence is not None:
        return statement.permanence
    if statement.expires_at is not None:
        return Permanence.TRANSIENT
    return Permanence.INFERRED if statement.source is Source.INFERRED else Permanence.DURABLE


def _first_version(statement: Statement, candidate: Fact | None, now: datetime) -> Fact:
    if candidate is None:
        return _new(statement, now)
    return replace(_supported(candidate, statement, now), id=statement.fingerprint)


def _new(statement: Statement, now: datetime) -> Fact:
    said_at = min(statement.said_at or now, now)
    fact = Fact(
        id=statement.fingerprint,
        text=statement.text,
        topic=statement.topic,
        source=statement.source,
        confidence=_confidence(statement),
        permanence=_permanence(statement),
        support=1,
        valid_from=said_at,
        said_at=said_at,
        expires_at=_expiry(statement, now),
        session_id=statement.session_id,
        turn_id=statement.turn_id,
        since=statement.since,
        until=statement.until,
        remind_on=statement.remind_on,
    )
    return with_text_of(statement, fact)


def _supported(
    fact: Fact, statement: Statement, now: datetime, repetitions: Sequence[Fact] = (), *, is_named: bool = False
) -> Fact:
    """Return the stored fact after a repetition: with more confidence, a later time, the better source, and one topic.

    The first topic stays, unless the new one lies below it. A statement that names the fact gives it its own topic.
    """
    stronger = max((fact.source, statement.source), key=default_confidence)
    permanence = statement.permanence or (_permanence(statement) if stronger is not fact.source else fact.permanence)
    confidence = max(fact.confidence, _confidence(statement))
    since, until = statement.since or fact.since, statement.until or fact.until
    check_order(since, until)
    return replace(
        fact,
        topic=statement.topic if is_named and statement.topic else narrower(fact.topic, statement.topic),
        source=stronger,
        permanence=permanence,
        support=fact.support + 1 + sum(one.support for one in repetitions),
        confidence=round(confidence + (1 - confidence) * SUPPORT_GAIN, 4),
        said_at=max(fact.said_at, min(statement.said_at or now, now)),
        expires_at=_expiry(statement, now),
        session_id=statement.session_id or fact.session_id,
        turn_id=statement.turn_id or fact.turn_id,
        since=since,
        until=until,
        remind_on=statement.remind_on or fact.remind_on,
    )


def _expiry(statement: Statement, now: datetime) -> datetime | None:
    expires_at = statement.expires_at
    if expires_at is None:
        return None
    if not now < expires_at <= now + LONGEST_EXPIRY:
        raise InvalidRequestError(
            f"expires_at must be at most {LONGEST_EXPIRY.days} days from now, "
            f"got {expires_at.isoformat(timespec='minutes')}; leave it out and say until when it is true with until"
        )
    return expires_at.replace(microsecond=0)
