"""What a statement does to what is known: it is new, it supports, it supersedes, or it stands beside."""

from dataclasses import replace

import pytest

from mcp_memory_server.domain.facts import Outcome, Permanence, Source, Standing, Statement, learn
from mcp_memory_server.errors import InvalidRequestError
from tests.domain.samples import CITY, DAY, NOON, fact, inferred


def test_the_first_statement_about_a_topic_is_learned() -> None:
    learning = learn(Statement("Lives in Bern", topic=CITY, session_id="s1", turn_id="t1"), NOON)

    assert learning.outcome is Outcome.LEARNED
    assert (learning.fact.text, learning.fact.topic, learning.fact.support) == ("Lives in Bern", CITY, 1)
    assert (learning.fact.valid_from, learning.fact.valid_to) == (NOON, None)
    assert (learning.fact.session_id, learning.fact.turn_id) == ("s1", "t1")


@pytest.mark.parametrize(
    ("source", "confidence", "permanence"),
    [
        (Source.CONFIRMED, 1.0, Permanence.DURABLE),
        (Source.USER_STATED, 0.9, Permanence.DURABLE),
        (Source.INFERRED, 0.5, Permanence.INFERRED),
    ],
)
def test_confidence_and_permanence_follow_from_the_source(
    source: Source, confidence: float, permanence: Permanence
) -> None:
    learned = fact(source=source)

    assert (learned.confidence, learned.permanence) == (confidence, permanence)


def test_saying_it_again_is_one_fact_with_more_support() -> None:
    known = fact("Lives in Bern")

    learning = learn(Statement("lives  in BERN.", topic=CITY), NOON + DAY, current=known)

    assert learning.outcome is Outcome.SUPPORTED
    assert (learning.fact.id, learning.fact.text, learning.fact.support) == (known.id, "Lives in Bern", 2)
    assert learning.fact.confidence > known.confidence
    assert (learning.fact.valid_from, learning.fact.said_at) == (NOON, NOON + DAY)


def test_an_inference_that_the_user_states_becomes_a_stated_durable_fact() -> None:
    known = fact("Lives in Bern", source=Source.INFERRED)

    learning = learn(Statement("Lives in Bern", topic=CITY), NOON, current=known)

    assert (learning.fact.source, learning.fact.permanence) == (Source.USER_STATED, Permanence.DURABLE)
    assert learning.fact.confidence > 0.9


def test_old_text_that_repeats_a_fact_does_not_make_it_older() -> None:
    known = fact("Lives in Bern")

    learning = learn(Statement("Lives in Bern", topic=CITY, said_at=NOON - 30 * DAY), NOON, current=known)

    assert learning.fact.said_at == NOON


def test_another_value_supersedes_and_the_earlier_one_becomes_history() -> None:
    known = fact("Lives in Bern")

    learning = learn(Statement("Lives in Basel", topic=CITY), NOON + DAY, current=known)

    assert learning.outcome is Outcome.SUPERSEDED
    assert (learning.fact.text, learning.fact.valid_from) == ("Lives in Basel", NOON + DAY)
    assert learning.superseded == replace(known, standing=Standing.PAST, valid_to=NOON + DAY)


def test_an_inference_never_replaces_what_the_user_said() -> None:
    known = fact("Lives in Bern")

    learning = learn(inferred("Lives in Basel", confidence=1.0), NOON + 3650 * DAY, current=known)

    assert learning.outcome is Outcome.CANDIDATE
    assert (learning.fact.text, learning.fact.standing) == ("Lives in Basel", Standing.CANDIDATE)
    assert learning.stands == known
    assert learning.superseded is None


def test_a_candidate_that_is_inferred_again_gains_support_and_stays_one() -> None:
    candidate = learn(inferred("Lives in Basel"), NOON, current=fact("Lives in Bern")).fact

    learning = learn(inferred("Lives in Basel"), NOON, current=fact("Lives in Bern"), candidate=candidate)

    assert (learning.outcome, learning.fact.standing) == (Outcome.CANDIDATE, Standing.CANDIDATE)
    assert learning.fact.support == 2
    assert not learning.drops_candidate


def test_a_candidate_that_the_user_states_is_promoted() -> None:
    known = fact("Lives in Bern")
    candidate = learn(inferred("Lives in Basel"), NOON, current=known).fact

    learning = learn(Statement("Lives in Basel", topic=CITY), NOON + DAY, current=known, candidate=candidate)

    assert learning.outcome is Outcome.SUPERSEDED
    assert (learning.fact.standing, learning.fact.source) == (Standing.CURRENT, Source.USER_STATED)
    assert learning.fact.support == 2
    assert learning.drops_candidate


def test_a_candidate_holds_when_what_stood_against_it_is_gone() -> None:
    candidate = learn(inferred("Lives in Basel"), NOON, current=fact("Lives in Bern")).fact

    learning = learn(inferred("Lives in Basel"), NOON, candidate=candidate)

    assert (learning.outcome, learning.fact.standing) == (Outcome.LEARNED, Standing.CURRENT)
    assert learning.drops_candidate


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
def test_of_two_inferences_the_surer_one_holds_and_the_older_one_has_faded(
    confidence: float, days: int, outcome: Outcome
) -> None:
    known = fact("Prefers mornings", source=Source.INFERRED, confidence=0.7)

    learning = learn(inferred("Prefers evenings", confidence=confidence), NOON + days * DAY, current=known)

    assert learning.outcome is outcome


@pytest.mark.parametrize("confidence", [0.0, -0.1, 1.01, float("nan"), float("inf")])
def test_a_confidence_that_is_none_is_refused(confidence: float) -> None:
    with pytest.raises(InvalidRequestError, match="confidence must be over 0 and at most 1"):
        Statement("Lives in Bern", confidence=confidence)


def test_a_moment_without_a_time_zone_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="said_at must have a time zone"):
        Statement("Lives in Bern", said_at=NOON.replace(tzinfo=None))


@pytest.mark.parametrize("text", ["", "  \n", "a\x00b", "bell \x07", "half \ud83e"])
def test_a_text_that_says_nothing_or_cannot_be_stored_is_refused(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="fact"):
        Statement(text)


@pytest.mark.parametrize("name", ["session_id", "turn_id"])
def test_where_a_statement_comes_from_needs_a_name(name: str) -> None:
    with pytest.raises(InvalidRequestError, match=name):
        replace(Statement("Lives in Bern"), **{name: " "})
