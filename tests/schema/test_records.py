"""Items of any release can be decoded: missing attributes have defaults, unknown ones are kept."""

import json
from dataclasses import replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.facts.dates import first_day, last_day
from mcp_memory_server.domain.facts.fact import Fact, Tombstone
from mcp_memory_server.domain.facts.notes import Note, NoteKind
from mcp_memory_server.domain.facts.preferences import Preference, SetBy
from mcp_memory_server.domain.kernel.items import Item, Key
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.summaries.summary import Summary
from mcp_memory_server.errors import TableDamagedError
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import (
    fact_body,
    fact_from,
    note_body,
    note_from,
    preference_body,
    preference_from,
    tombstone_body,
    tombstone_from,
)
from mcp_memory_server.schema.summary_records import summary_from
from tests.domain.generated import memories
from tests.domain.samples import NOON, fact

ANNA = Scope("anna")
STORED: list[dict[str, Any]] = json.loads(Path(__file__).with_name("stored_items.json").read_text())
READERS = {
    "FACT": fact_from,
    "FACT?": fact_from,
    "PAST": fact_from,
    "PREF": preference_from,
    "NOTE": note_from,
    "GONE": tombstone_from,
    "SUM": summary_from,
}


def item(sk: str, body: dict[str, Any], expires_at: str | None = None) -> Item:
    return Item(Key("USER#anna", sk), body, 1, None if expires_at is None else datetime.fromisoformat(expires_at))


def read(stored: Item) -> Fact | Preference | Note | Tombstone | Summary:
    return READERS[stored.key.sk.partition("#")[0]](stored)


def as_written(value: object) -> object:
    return value.isoformat() if isinstance(value, datetime) else value


@pytest.mark.parametrize("stored", STORED, ids=lambda stored: stored["shape"])
def test_every_shape_that_was_ever_stored_can_be_read(stored: dict[str, Any]) -> None:
    memory = read(item(stored["sk"], stored["body"], stored.get("expires_at")))

    assert {name: as_written(getattr(memory, name)) for name in stored["reads"]} == stored["reads"]


@pytest.mark.parametrize("stored", STORED, ids=lambda stored: stored["shape"])
def test_a_rewrite_keeps_unknown_attributes(stored: dict[str, Any]) -> None:
    memory, held = read(item(stored["sk"], stored["body"])), {**stored["body"], "later": [1, {"x": None}]}

    if isinstance(memory, Fact):
        assert fact_body(memory, held)["later"] == [1, {"x": None}]
    elif isinstance(memory, Preference):
        assert preference_body(memory, held)["later"] == [1, {"x": None}]


@pytest.mark.parametrize("sk", ["FACT#city", "FACT?#city#0", "PAST#city#0", "PREF#tone", "NOTE#feedback#1"])
@pytest.mark.parametrize("body", [{}, {"text": 5, "value": None}, {"text": ["Bern"], "value": {}}])
def test_an_item_without_its_text_is_damaged(sk: str, body: dict[str, Any]) -> None:
    with pytest.raises(TableDamagedError, match="cannot be read"):
        read(item(sk, body))


@given(memories.filter(lambda memory: memory.fact is not None))
def test_a_fact_is_read_as_it_was_written(memory: Any) -> None:
    written = item(keys.memory_key(ANNA, memory).sk, fact_body(memory.fact))

    assert fact_from(written) == memory.fact


def test_the_times_of_a_fact_are_read_as_they_were_written() -> None:
    dates = {"since": date(2019, 10, 3), "until": date(2026, 10, 12), "remind_on": date(2026, 10, 1)}
    dated = replace(fact(), **dates, superseded_by="0123456789ab")  # type: ignore[arg-type]

    body = fact_body(dated)

    assert (body["since"], body["until"], body["remind_on"]) == ("2019-10-03", "2026-10-12", "2026-10-01")
    assert fact_from(item("FACT#~" + dated.id, body)) == dated


def test_a_date_of_which_only_the_month_or_the_year_is_known_stays_so() -> None:
    known = replace(fact(), since=first_day("since", "2019"), until=last_day("until", "2026-02"))

    body = fact_body(known)
    read_fact = fact_from(item("FACT#~0", body))

    assert (body["since"], body["until"]) == ("2019", "2026-02")
    assert (read_fact.since, read_fact.until) == (date(2019, 1, 1), date(2026, 2, 28))
    assert (str(read_fact.since), str(read_fact.until)) == ("2019", "2026-02")


def test_a_removed_date_is_not_kept_from_the_stored_item() -> None:
    held = fact_body(replace(fact(), until=date(2026, 10, 12)))

    assert "until" not in fact_body(fact(), held)


def test_dates_that_make_no_sense_are_unknown() -> None:
    read_fact = fact_from(
        item("FACT#~0", {"text": "hello", "since": "last year", "until": 5, "remind_on": "2026-02-30"})
    )

    assert (read_fact.since, read_fact.until, read_fact.remind_on) == (None, None, None)


@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=30).filter(str.strip))
def test_a_preference_is_read_as_it_was_written_whatever_its_key(key: str) -> None:
    preference = Preference(key, "brief", SetBy.DEFAULT, NOON)

    assert preference_from(item(keys.preference_key(ANNA, key).sk, preference_body(preference))) == preference


def test_notes_and_tombstones_are_read_as_they_were_written() -> None:
    note = Note("1#2/3", NoteKind.FEEDBACK, "too long", NOON, NOON, "s1")
    tombstone = Tombstone(fact().fingerprint, NOON)

    note_item = Item(keys.note_key(ANNA, note.kind, note.id), note_body(note), 1, NOON)
    tombstone_item = Item(keys.tombstone_key(ANNA, tombstone.fingerprint), tombstone_body(tombstone), 1)
    assert (note_from(note_item), tombstone_from(tombstone_item)) == (note, tombstone)


def test_a_tombstone_does_not_hold_the_text() -> None:
    assert tombstone_body(Tombstone(fact("secret").fingerprint, NOON)).keys() == {"forgotten_at"}
