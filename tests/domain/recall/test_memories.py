"""Duplicate statements are merged, however often they are stored."""

from dataclasses import replace

from mcp_memory_server.domain.facts.fact import Permanence, Standing
from mcp_memory_server.domain.facts.notes import Note, NoteKind
from mcp_memory_server.domain.recall.memories import (
    Kind,
    StoredMemory,
    by_topic,
    by_topic_after,
    current,
    from_fact,
    from_note,
    is_past,
    unexpired,
    without_duplicates,
)
from tests.domain.samples import CITY, DAY, NOON, fact, known_fact


def told(memories: list[StoredMemory]) -> list[tuple[str | None, str, int]]:
    return [(memory.topic, memory.text, memory.support) for memory in memories]


def test_the_same_text_with_a_topic_and_without_is_one_fact_with_more_support() -> None:
    loose, under_topic = known_fact("Lives in Bern", at=NOON + DAY), known_fact("lives in bern.", CITY)

    merged = without_duplicates([loose, under_topic])

    assert told(merged) == [(CITY, "lives in bern.", 2)]
    assert merged[0].said_at == NOON + DAY
    assert merged[0].fact is not None
    assert merged[0].fact.support == 2


def test_the_same_text_under_two_topics_says_two_things() -> None:
    tea, coffee, loose = known_fact("yes", "likes/tea"), known_fact("yes", "likes/coffee"), known_fact("yes")

    assert told(without_duplicates([tea, coffee])) == [("likes/tea", "yes", 1), ("likes/coffee", "yes", 1)]
    assert sorted(told(without_duplicates([tea, coffee, loose]))) == [
        ("likes/coffee", "yes", 1),
        ("likes/tea", "yes", 2),
    ]


def test_the_same_text_under_the_same_topic_in_another_case_is_one_fact() -> None:
    one, other = known_fact("Lives in Bern", CITY), known_fact("Lives in Bern", CITY.upper())

    assert [support for _, _, support in told(without_duplicates([one, other]))] == [2]


def test_a_fact_past_its_end_is_history_and_does_not_expire() -> None:
    travels = from_fact(fact("Is in Rome", permanence=Permanence.TRANSIENT))

    assert [is_past(travels, NOON + days * DAY) for days in (13, 14)] == [False, True]
    assert unexpired([travels], NOON + 99 * DAY) == [travels]
    assert current([travels], NOON + 14 * DAY) == []


def test_the_sort_keys_under_each_topic_are_right_after_changes() -> None:
    rows = {"1": known_fact("Has a cat", "Pets"), "2": known_fact("Has a dog", "pets"), "3": known_fact("Is tall")}
    moved = {"2": known_fact("Has a dog", "animals")}

    after = by_topic_after(by_topic(rows), {"2": rows["2"]}, moved)

    assert by_topic(rows) == {"pets": {"1", "2"}}
    assert after == {"pets": {"1"}, "animals": {"2"}} == by_topic({**rows, **moved})
    assert by_topic_after(after, {"1": rows["1"]}, {}) == {"animals": {"2"}}


def test_a_lasting_fact_is_not_represented_by_one_that_expires() -> None:
    passing, lasting = from_fact(fact("Is in Rome", permanence=Permanence.TRANSIENT)), known_fact("Is in Rome")

    later = current(without_duplicates([passing, lasting]), NOON + 15 * DAY)

    assert told(later) == [(None, "Is in Rome", 1)]


def test_a_candidate_is_not_a_duplicate_of_a_fact() -> None:
    sure = fact("Lives in Bern")
    possible = replace(sure, standing=Standing.CANDIDATE)

    kinds = [memory.kind for memory in without_duplicates([from_fact(sure), from_fact(possible)])]

    assert kinds == [Kind.FACT, Kind.CANDIDATE]


def test_notes_are_never_merged() -> None:
    feedback = from_note(Note("1", NoteKind.FEEDBACK, "too long", NOON, NOON + DAY))
    pattern = from_note(Note("1", NoteKind.PATTERN, "too long", NOON, NOON + DAY))

    assert without_duplicates([feedback, pattern]) == [feedback, pattern]


def test_a_memory_is_gone_at_the_moment_of_its_expiry() -> None:
    note = from_note(Note("1", NoteKind.PATTERN, "asks at night", NOON, NOON + DAY))

    assert unexpired([note], NOON + DAY) == []
    assert unexpired([note], NOON + 0.999 * DAY) == [note]
