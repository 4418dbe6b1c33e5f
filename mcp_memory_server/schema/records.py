"""Encode facts, preferences, notes and tombstones as items, and decode them.

An item written by any earlier release can be decoded: a missing attribute has a default, and an unknown one survives a
rewrite, because a body is always written over the one that was read.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import TypeVar

from mcp_memory_server.domain.facts.dates import first_day, last_day
from mcp_memory_server.domain.facts.fact import Fact, Outcome, Permanence, Source, Standing, Tombstone, fact_id
from mcp_memory_server.domain.facts.notes import Note, NoteKind, expiry
from mcp_memory_server.domain.facts.preferences import Preference, SetBy
from mcp_memory_server.domain.kernel.items import INDEX_PARTITION, INDEX_SORT, Item, Value
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError, TableDamagedError
from mcp_memory_server.schema.keys import (
    NOTES,
    PAST_FACTS,
    POSSIBLE_FACTS,
    PREFERENCES,
    decoded,
    timestamp,
    topic_index,
)

Record = Mapping[str, Value]
Choice = TypeVar("Choice", bound=StrEnum)

OUTCOME = "outcome"
"""The outcome of the operation that wrote a fact, so that a retry returns the same answer as the first time."""

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)
# The key of an item decides the standing of its fact; the attribute of that name is for people who read the table.
_STANDINGS = {POSSIBLE_FACTS: Standing.CANDIDATE, PAST_FACTS: Standing.PAST}


def fact_body(fact: Fact, over: Record | None = None) -> dict[str, Value]:
    """Return the body of a fact's item, written over what the item held."""
    optional = {
        "topic": fact.topic,
        "valid_to": None if fact.valid_to is None else timestamp(fact.valid_to),
        "session": fact.session_id,
        "turn": fact.turn_id,
        "since": _day_text(fact.since),
        "until": _day_text(fact.until),
        "remind_on": _day_text(fact.remind_on),
        "superseded_by": fact.superseded_by,
    }
    return {
        **{name: value for name, value in (over or {}).items() if name not in optional},
        "id": fact.id,
        "text": fact.text,
        "source": fact.source.value,
        "confidence": fact.confidence,
        "permanence": fact.permanence.value,
        "support": fact.support,
        "valid_from": timestamp(fact.valid_from),
        "said_at": timestamp(fact.said_at),
        "standing": fact.standing.value,
        **{name: value for name, value in optional.items() if value is not None},
    }


def listed_fact_body(scope: Scope, fact: Fact, over: Record | None = None) -> dict[str, Value]:
    """Return the body of a fact's item with the attributes that list it in the topic index, if the fact is current."""
    body = {name: value for name, value in fact_body(fact, over).items() if name not in (INDEX_PARTITION, INDEX_SORT)}
    return {**body, **topic_entry(scope, fact)}


def topic_entry(scope: Scope, fact: Fact) -> dict[str, Value]:
    """Return the attributes that list a current fact under its topic in the index."""
    if fact.topic is None or fact.standing is not Standing.CURRENT:
        return {}
    return {INDEX_PARTITION: topic_index(scope, fact.topic), INDEX_SORT: timestamp(fact.valid_from)}


def fact_from(item: Item) -> Fact:
    """Decode a fact.

    Raises:
        TableDamagedError: The item holds no valid fact.
    """
    body = item.body
    text, topic = _text(item, "text"), optional_text(body, "topic")
    valid_from = moment_or_none(body.get("valid_from")) or _BEGINNING
    standing = _STANDINGS.get(item.key.sk.partition("#")[0] + "#", Standing.CURRENT)
    return Fact(
        id=optional_text(body, "id") or fact_id(text),
        text=text,
        topic=topic,
        source=_one_of(Source, body.get("source"), Source.USER_STATED),
        confidence=min(max(_number(body, "confidence", 0.9), 0.0), 1.0),
        permanence=_one_of(Permanence, body.get("permanence"), Permanence.DURABLE),
        support=max(int(_number(body, "support", 1)), 1),
        valid_from=valid_from,
        said_at=moment_or_none(body.get("said_at")) or valid_from,
        valid_to=_end(item) if standing is Standing.PAST else None,
        expires_at=item.expires_at,
        session_id=optional_text(body, "session"),
        turn_id=optional_text(body, "turn"),
        standing=standing,
        since=_day(body, "since"),
        until=_day(body, "until", last_day),
        remind_on=_day(body, "remind_on"),
        superseded_by=optional_text(body, "superseded_by"),
    )


def outcome_from(item: Item) -> Outcome:
    """Return the outcome of the operation that wrote this fact."""
    return _one_of(Outcome, item.body.get(OUTCOME), Outcome.LEARNED)


def preference_body(preference: Preference, over: Record | None = None) -> dict[str, Value]:
    """Return the body of a preference's item, written over what the item held."""
    return {
        **(over or {}),
        "key": preference.key,
        "value": preference.value,
        "set_by": preference.set_by.value,
        "set_at": timestamp(preference.set_at),
    }


def preference_from(item: Item) -> Preference:
    """Decode a preference."""
    return Preference(
        key=optional_text(item.body, "key") or decoded(item.key.sk.removeprefix(PREFERENCES)),
        value=_text(item, "value"),
        set_by=_one_of(SetBy, item.body.get("set_by"), SetBy.USER),
        set_at=moment_or_none(item.body.get("set_at")) or _BEGINNING,
    )


def note_body(note: Note) -> dict[str, Value]:
    """Return the body of a note's item."""
    body: dict[str, Value] = {"text": note.text, "noted_at": timestamp(note.noted_at)}
    return body if note.session_id is None else {**body, "session": note.session_id}


def note_from(item: Item) -> Note:
    """Decode a note."""
    kind, _, note_id = item.key.sk.removeprefix(NOTES).partition("#")
    kind = _one_of(NoteKind, kind, NoteKind.PATTERN)
    noted_at = moment_or_none(item.body.get("noted_at")) or _BEGINNING
    return Note(
        id=decoded(note_id),
        kind=kind,
        text=_text(item, "text"),
        noted_at=noted_at,
        expires_at=item.expires_at or expiry(kind, noted_at),
        session_id=optional_text(item.body, "session"),
    )


def tombstone_body(tombstone: Tombstone) -> dict[str, Value]:
    """Return the body of a tombstone's item. It holds no text, only where the forgotten statement came from."""
    optional: dict[str, Value] = {
        "sketch": list(tombstone.sketch) or None,
        "session": tombstone.session_id,
        "turn": tombstone.turn_id,
    }
    stored: dict[str, Value] = {"forgotten_at": timestamp(tombstone.forgotten_at)}
    return {**stored, **{name: value for name, value in optional.items() if value is not None}}


def forgotten_turn_from(item: Item) -> tuple[str, str] | None:
    """Return the session and the turn that a forgotten statement came from, if the tombstone names them."""
    session, turn = optional_text(item.body, "session"), optional_text(item.body, "turn")
    return None if session is None or turn is None else (session, turn)


def tombstone_from(item: Item) -> Tombstone:
    """Decode a tombstone."""
    forgotten_at = moment_or_none(item.body.get("forgotten_at")) or _BEGINNING
    return Tombstone(item.key.sk.partition("#")[2], forgotten_at, sketch_from(item))


def sketch_from(item: Item) -> tuple[int, ...]:
    """Return the sketch that recognises sentences about a forgotten statement; earlier releases stored none."""
    numbers = item.body.get("sketch")
    return tuple(one for one in numbers if isinstance(one, int)) if isinstance(numbers, list) else ()


def moment_from(text: str) -> datetime:
    """Parse a moment; without a time zone it is UTC.

    Raises:
        ValueError: It is not a valid moment.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def moment_or_none(value: Value) -> datetime | None:
    """Parse a moment; None if it is not valid."""
    try:
        return moment_from(value) if isinstance(value, str) else None
    except ValueError:
        return None


def optional_text(body: Record, name: str) -> str | None:
    """Return the text under this name; None if there is none."""
    value = body.get(name)
    return value if isinstance(value, str) else None


def _day_text(day: date | None) -> str | None:
    return None if day is None else str(day)  # "2026-03" if only the month is known


def _day(body: Record, name: str, parse: Callable[[str, str], date] = first_day) -> date | None:
    text = optional_text(body, name)
    try:
        return None if text is None else parse(name, text)
    except InvalidRequestError:
        return None


def _text(item: Item, name: str) -> str:
    value = item.body.get(name)
    if not isinstance(value, str):
        raise TableDamagedError(f"a {item.key.sk.partition('#')[0]} item has no {name!r}, so it cannot be read")
    return value


def _number(body: Record, name: str, default: float) -> float:
    value = body.get(name)
    return value if isinstance(value, int | float) else default


def _end(item: Item) -> datetime | None:
    return moment_or_none(item.body.get("valid_to")) or moment_or_none(item.key.sk.rpartition("#")[2])


def _one_of(choices: type[Choice], value: Value, default: Choice) -> Choice:
    try:
        return choices(value)
    except ValueError:
        return default  # a later release may know more choices than this one
