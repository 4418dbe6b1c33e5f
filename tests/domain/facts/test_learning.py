"""A statement is added, supports a stored fact, supersedes it, or becomes a candidate."""

from dataclasses import replace
from datetime import date

import pytest

from mcp_memory_server.domain.facts.fact import Outcome, Permanence, Source, Standing, Statement, ended
from mcp_memory_server.domain.facts.learning import Change, learn
from mcp_memory_server.errors import InvalidRequestError
from tests.domain.samples import CITY, DAY, NOON, fact, inferred


def test_the_first_statement_about_a_topic_is_learned() -> None:
    learning = learn(Statement("Ana lives in Bern", topic=CITY, session_id="s1", turn_id="t1"), NOON)

    assert learning.outcome is Outcome.LEARNED
    assert (learning.fact.text, learning.fact.topic, learning.fact.support) == ("Ana lives in Bern", CITY, 1)
    assert (learning.fact.valid_from, learning.fact.valid_to) == (NOON, None)
    assert (learning.fact.session_id, learning.fact.turn_id) == ("s1", "t1")


@pytest.mark.parametrize(
    ("source", "confidence", "permanence"),
    [
        (Source.CONFIRMED, 1.0, Permanence.DURABLE),
        (Source.USER_STATED, 0.9, Permanence.DURABLE),
        (Source.IMPORTED, 0.8, Permanence.DURABLE),
        (Source.INFERRED, 0.5, Permanence.INFERRED),
    ],
)
def test_confidence_and_permanence_follow_from_the_source(
    source: Source, confidence: float, permanence: Permanence
) -> None:
    learned = fact(source=source)

    assert (learned.confidence, learned.permanence) == (confidence, permanence)


def test_a_repetition_is_one_fact_with_more_support() -> None:
    related = fact("Ana lives in Bern")

    learning = learn(Statement("ana lives  in BERN.", topic=CITY), NOON + DAY, related=[related])

    assert learning.outcome is Outcome.SUPPORTED
    assert (learning.fact.id, learning.fact.text, learning.fact.support) == (related.id, "Ana lives in Bern", 2)
    assert learning.fact.confidence > related.confidence
    assert (learning.fact.valid_from, learning.fact.said_at) == (NOON, NOON + DAY)


def test_an_inference_that_the_user_states_becomes_a_stated_durable_fact() -> None:
    related = fact("Ana lives in Bern", source=Source.INFERRED)

    learning = learn(Statement("Ana lives in Bern", topic=CITY), NOON, related=[related])

    assert (learning.fact.source, learning.fact.permanence) == (Source.USER_STATED, Permanence.DURABLE)
    assert learning.fact.confidence > 0.9


def test_old_text_that_repeats_a_fact_does_not_make_it_older() -> None:
    related = fact("Ana lives in Bern")

    learning = learn(Statement("Ana lives in Bern", topic=CITY, said_at=NOON - 30 * DAY), NOON, related=[related])

    assert learning.fact.said_at == NOON


def test_another_value_supersedes_and_the_earlier_one_becomes_history() -> None:
    related = fact("Ana lives in Bern")

    learning = learn(Statement("Ana lives in Basel", topic=CITY), NOON + DAY, related=[related])

    assert learning.outcome is Outcome.SUPERSEDED
    assert (learning.fact.text, learning.fact.valid_from) == ("Ana lives in Basel", NOON + DAY)
    assert learning.superseded == (
        replace(related, standing=Standing.PAST, valid_to=NOON + DAY, superseded_by=learning.fact.fingerprint),
    )


def test_an_inference_never_replaces_what_the_user_said() -> None:
    related = fact("Ana lives in Bern")

    learning = learn(inferred("Ana lives in Basel", confidence=1.0), NOON + 3650 * DAY, related=[related])

    assert learning.outcome is Outcome.CANDIDATE
    assert (learning.fact.text, learning.fact.standing) == ("Ana lives in Basel", Standing.CANDIDATE)
    assert learning.stands == related
    assert learning.superseded == ()


def test_a_candidate_that_is_inferred_again_gains_support_and_stays_one() -> None:
    candidate = learn(inferred("Ana lives in Basel"), NOON, related=[fact("Ana lives in Bern")]).fact

    learning = learn(inferred("Ana lives in Basel"), NOON, related=[fact("Ana lives in Bern")], candidate=candidate)

    assert (learning.outcome, learning.fact.standing) == (Outcome.CANDIDATE, Standing.CANDIDATE)
    assert learning.fact.support == 2
    assert learning.changes == ()


def test_a_candidate_that_the_user_states_is_promoted() -> None:
    related = fact("Ana lives in Bern")
    candidate = learn(inferred("Ana lives in Basel"), NOON, related=[related]).fact

    learning = learn(Statement("Ana lives in Basel", topic=CITY), NOON + DAY, related=[related], candidate=candidate)

    assert learning.outcome is Outcome.SUPERSEDED
    assert (learning.fact.standing, learning.fact.source) == (Standing.CURRENT, Source.USER_STATED)
    assert learning.fact.support == 2
    assert Change(candidate, None) in learning.changes


def test_a_candidate_becomes_current_when_the_fact_against_it_is_gone() -> None:
    candidate = learn(inferred("Ana lives in Basel"), NOON, related=[fact("Ana lives in Bern")]).fact

    learning = learn(inferred("Ana lives in Basel"), NOON, candidate=candidate)

    assert (learning.outcome, learning.fact.standing) == (Outcome.LEARNED, Standing.CURRENT)
    assert learning.changes == (Change(candidate, None),)


@pytest.mark.parametrize(
    ("confidence", "days", "outcome"),
    [
        (0.6, 0, Outcome.CANDIDATE),
        (0.7, 0, Outcome.SUPERSEDED),
        (0.8, 0, Outcome.SUPERSEDED),
        (0.4, 89, Outcome.SUPERSEDED),
        (0.3, 89, Outcome.CANDIDATE),
    ],
)
def test_the_more_confident_of_two_inferences_wins_and_the_older_one_has_faded(
    confidence: float, days: int, outcome: Outcome
) -> None:
    related = fact("Ana lives in Bern", source=Source.INFERRED, confidence=0.7)

    learning = learn(inferred("Ana lives in Basel", confidence=confidence), NOON + days * DAY, related=[related])

    assert learning.outcome is outcome


def test_a_topic_holds_many_facts() -> None:
    peanuts = fact("Ana is allergic to peanuts.", "health/allergies")

    learning = learn(Statement("Ana is allergic to penicillin.", topic="health/allergies"), NOON, related=[peanuts])

    assert (learning.outcome, learning.changes) == (Outcome.LEARNED, ())


def test_a_weak_inference_beside_other_facts_of_its_topic_is_one_of_them() -> None:
    peanuts = fact("Ana is allergic to peanuts.", "health/allergies")

    learning = learn(inferred("Ana is allergic to dust.", "health/allergies"), NOON, related=[peanuts])

    assert (learning.outcome, learning.fact.standing) == (Outcome.LEARNED, Standing.CURRENT)


def test_topics_are_compared_without_regard_to_case() -> None:
    bern = fact("Ana lives in Bern", "Personal/Location/City")

    learning = learn(Statement("Ana lives in Basel", topic="personal/location/CITY"), NOON + DAY, related=[bern])

    assert [past.text for past in learning.superseded] == ["Ana lives in Bern"]


def test_the_same_sentence_under_another_topic_is_the_same_fact_under_the_first_topic() -> None:
    cat = fact("Ana has a cat.", "pets")

    learning = learn(Statement("Ana has a cat.", topic="household"), NOON, related=[cat])

    assert (learning.outcome, learning.fact.id, learning.fact.topic) == (Outcome.SUPPORTED, cat.id, "pets")


def test_a_narrower_topic_replaces_a_wider_one_and_any_topic_replaces_none() -> None:
    wide, loose = fact("Ana has a cat.", "Pets"), fact("Ana has a cat.", None)
    narrow = Statement("Ana has a cat.", topic="pets/cats")

    topics = [learn(narrow, NOON, related=[related]).fact.topic for related in (wide, loose)]

    assert topics == ["pets/cats", "pets/cats"]
    assert learn(Statement("Ana has a cat."), NOON, related=[wide]).fact.topic == "Pets"


def test_a_statement_that_names_its_own_fact_gives_it_another_topic() -> None:
    cat = fact("Ana has a cat.", "animals")

    learning = learn(Statement("Ana has a cat.", topic="pets"), NOON, named=[cat])

    assert (learning.outcome, learning.fact.topic, learning.superseded) == (Outcome.SUPPORTED, "pets", ())


def test_every_named_fact_is_superseded() -> None:
    named = [fact("Has a cat", "pets"), fact("Has a fish", None), fact("Has a bird", "animals")]

    learning = learn(Statement("Has a dog", topic="pets"), NOON + DAY, named=named)

    assert learning.outcome is Outcome.SUPERSEDED
    assert [past.text for past in learning.superseded] == ["Has a cat", "Has a fish", "Has a bird"]
    assert {past.superseded_by for past in learning.superseded} == {learning.fact.fingerprint}


def test_the_start_of_a_replacement_is_the_end_of_the_replaced_fact() -> None:
    acme = fact("Ana works at Acme.", "work/employer")

    globex = Statement("Ana works at Globex.", topic="work/employer", since=date(2026, 2, 1))
    (past,) = learn(globex, NOON + DAY, related=[acme]).superseded

    assert (past.until, past.last_day) == (date(2026, 1, 31), date(2026, 1, 31))


def test_a_replacement_with_a_future_start_leaves_the_other_true_until_then() -> None:
    acme = fact("Ana works at Acme.", "work/employer")

    globex = Statement("Ana works at Globex.", topic="work/employer", since=date(2026, 5, 1))
    learning = learn(globex, NOON + DAY, related=[acme])

    assert learning.superseded == (replace(acme, until=date(2026, 4, 30)),)
    assert [learning.superseded[0].is_over(NOON + days * DAY) for days in (1, 70)] == [False, True]


def test_a_past_value_does_not_replace_the_current_one() -> None:
    globex = fact("Ana works at Globex.", "work/employer")

    acme = Statement("Ana worked at Acme.", topic="work/employer", until=date(2019, 12, 31))
    learning = learn(acme, NOON + DAY, related=[globex])

    assert (learning.outcome, learning.changes) == (Outcome.LEARNED, ())
    assert learning.fact.is_over(NOON + DAY)


def test_a_value_with_an_earlier_start_does_not_replace_one_with_a_later_start() -> None:
    globex = replace(fact("Ana works at Globex.", "work/employer"), since=date(2024, 1, 1))

    acme = Statement("Ana works at Acme.", topic="work/employer", since=date(2015, 1, 1))

    assert learn(acme, NOON, related=[globex]).changes == ()


@pytest.mark.parametrize("by", [None, "somebody"])
def test_an_inference_does_not_revive_an_ended_fact(by: str | None) -> None:
    past = ended(fact("Ana lives in Bern"), NOON + DAY, by=by)

    learning = learn(inferred("Ana lives in Bern"), NOON + 9 * DAY, past=past)

    assert (learning.outcome, learning.fact) == (Outcome.ENDED, past)


def test_old_text_does_not_revive_a_fact_that_ended_since() -> None:
    past = ended(fact("Ana lives in Bern"), NOON + 2 * DAY)

    outcomes = [
        learn(Statement("Ana lives in Bern", said_at=NOON + days * DAY), NOON + 9 * DAY, past=past).outcome
        for days in (1, 3)
    ]

    assert outcomes == [Outcome.ENDED, Outcome.LEARNED]


def test_an_inference_may_revive_an_earlier_inference() -> None:
    past = ended(fact("Prefers mornings", source=Source.INFERRED), NOON + DAY, by="evenings")

    assert learn(inferred("Prefers mornings"), NOON + 9 * DAY, past=past).outcome is Outcome.LEARNED


def test_an_inference_does_not_revive_a_fact_past_its_time() -> None:
    stay = replace(fact("Ana is in Rome"), until=date(2026, 3, 5))

    assert learn(inferred("Ana is in Rome"), NOON + 9 * DAY, related=[stay]).outcome is Outcome.ENDED


def test_a_fact_that_is_stated_again_after_its_end_is_current_and_its_first_period_is_history() -> None:
    stay = replace(fact("Ana is in Rome"), until=date(2026, 3, 5))

    learning = learn(Statement("Ana is in Rome", topic=CITY), NOON + 90 * DAY, related=[stay])

    (change,) = learning.changes
    assert (learning.outcome, learning.fact.until, learning.superseded) == (Outcome.LEARNED, None, ())
    assert not learning.fact.is_over(NOON + 90 * DAY)
    assert change.after is not None
    assert (change.before, change.after.standing, change.after.last_day) == (stay, Standing.PAST, date(2026, 3, 5))


def test_an_event_that_is_mentioned_after_its_day_stays_past() -> None:
    dentist = fact("Ana sees the dentist on 2026-03-10.")

    learning = learn(Statement("Ana sees the dentist on 2026-03-10."), NOON + 30 * DAY, related=[dentist])

    assert learning.outcome is Outcome.SUPPORTED
    assert learning.fact.is_over(NOON + 30 * DAY)


def test_a_repetition_adds_the_period() -> None:
    related = replace(fact("Ana lives in Bern"), since=date(2020, 1, 1))

    learning = learn(
        Statement("Ana lives in Bern", until=date(2026, 12, 31), remind_on=date(2026, 12, 1)), NOON, related=[related]
    )

    times = (learning.fact.since, learning.fact.until, learning.fact.remind_on)
    assert times == (date(2020, 1, 1), date(2026, 12, 31), date(2026, 12, 1))


def test_duplicates_of_earlier_releases_become_one_fact() -> None:
    loose, placed = fact("Ana lives in Bern", None), fact("Ana lives in Bern", CITY)

    learning = learn(Statement("Ana lives in Bern"), NOON, related=[loose, placed])

    assert (learning.overwritten, learning.changes, learning.fact.support) == (placed, (Change(loose, None),), 3)


@pytest.mark.parametrize("confidence", [0.0, -0.1, 1.01, float("nan"), float("inf")])
def test_an_invalid_confidence_is_refused(confidence: float) -> None:
    with pytest.raises(InvalidRequestError, match="confidence must be over 0 and at most 1"):
        Statement("Ana lives in Bern", confidence=confidence)


def test_inferred_is_a_source_and_cannot_be_requested_as_permanence() -> None:
    with pytest.raises(InvalidRequestError, match="permanence must be permanent, durable or transient"):
        Statement("Ana lives in Bern", permanence=Permanence.INFERRED)


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="said_at must have a time zone"):
        Statement("Ana lives in Bern", said_at=NOON.replace(tzinfo=None))


@pytest.mark.parametrize("text", ["", "  \n", "a\x00b", "bell \x07", "half \ud83e"])
def test_a_blank_or_unstorable_text_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="fact"):
        Statement(text)


@pytest.mark.parametrize("name", ["session_id", "turn_id"])
def test_the_origin_of_a_statement_must_not_be_blank(name: str) -> None:
    with pytest.raises(InvalidRequestError, match=name):
        replace(Statement("Ana lives in Bern"), **{name: " "})


def test_a_date_in_the_new_value_says_until_when_the_earlier_one_was_true() -> None:
    old = learn(Statement("Ana lives in Porto.", topic="city"), NOON).fact

    learning = learn(Statement("Ana moved to Lisbon on 2026-02-02.", topic="city"), NOON, related=[old])

    (past,) = learning.superseded
    assert (past.last_day, learning.fact.since) == (date(2026, 2, 1), date(2026, 2, 2))


def test_a_date_long_ago_says_nothing_about_the_change() -> None:
    old = learn(Statement("Ana Silva works at Acme.", topic="employer"), NOON).fact
    new = Statement("Ana Silva, born on 1990-02-02, works at Bosch.", topic="employer")

    assert learn(new, NOON, related=[old], named=[old]).fact.since is None


def test_a_date_in_what_replaces_more_than_one_value_says_nothing_about_the_change() -> None:
    old = learn(Statement("Ben is allergic to hazelnuts.", topic="allergies"), NOON).fact
    new = Statement("Ben is allergic to hazelnuts and, since a test on 2026-02-02, to sesame.", topic="allergies")

    assert learn(new, NOON, related=[old], named=[old]).fact.since is None


def test_an_end_that_is_added_later_keeps_the_start() -> None:
    began = learn(Statement("Ana works at Acme.", topic="employer", since=date(2018, 1, 1)), NOON).fact
    past = ended(began, NOON, by="another")

    fact = learn(Statement("Ana works at Acme.", until=date(2026, 2, 1)), NOON + DAY, past=past).fact

    assert (fact.since, fact.until) == (date(2018, 1, 1), date(2026, 2, 1))
