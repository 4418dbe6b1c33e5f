"""Facts fade at the pace of their permanence, expire when they are transient, and keep their history in order."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.facts.fact import (
    Fact,
    Outcome,
    Permanence,
    Source,
    Statement,
    confidence_at,
    ended,
    held_at,
)
from mcp_memory_server.domain.facts.learning import learn
from mcp_memory_server.errors import InvalidRequestError
from tests.domain.samples import CITY, DAY, NOON, fact


def town(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(number)).capitalize() + "ville"


ages = st.timedeltas(timedelta(), 20_000 * DAY)
permanences = st.sampled_from(Permanence)


@given(permanences, st.floats(0.01, 1), ages, ages)
def test_confidence_never_rises_with_time(
    permanence: Permanence, sure: float, one: timedelta, other: timedelta
) -> None:
    known = replace(fact(confidence=sure), permanence=permanence)

    earlier, later = (confidence_at(known, NOON + age) for age in sorted((one, other)))

    assert 0 <= later <= earlier <= sure


@given(ages)
def test_a_permanent_fact_keeps_its_confidence(age: timedelta) -> None:
    known = fact(permanence=Permanence.PERMANENT)

    assert confidence_at(known, NOON + age) == known.confidence


def test_the_less_permanent_fades_faster() -> None:
    order = [Permanence.PERMANENT, Permanence.DURABLE, Permanence.INFERRED, Permanence.TRANSIENT]

    left = [confidence_at(replace(fact(), permanence=permanence), NOON + 7 * DAY) for permanence in order]

    assert left == sorted(left, reverse=True)
    assert len(set(left)) == len(left)


def test_a_clock_that_stepped_back_raises_no_confidence() -> None:
    known = fact(permanence=Permanence.TRANSIENT)

    assert confidence_at(known, NOON - DAY) == known.confidence


def test_a_fact_holds_from_its_beginning_until_just_before_its_end() -> None:
    past = ended(fact(), NOON + DAY)

    held = [held_at(past, NOON + hours * timedelta(hours=1)) for hours in (-1, 0, 23, 24, 25)]

    assert held == [False, True, True, False, False]


@given(
    st.lists(st.tuples(st.timedeltas(-100 * DAY, 100 * DAY), st.none() | st.timedeltas(-900 * DAY, DAY)), min_size=2)
)
def test_history_has_one_fact_at_a_time_however_the_clock_jumps(
    steps: list[tuple[timedelta, timedelta | None]],
) -> None:
    history: list[Fact] = []
    current: Fact | None = None
    for number, (jump, age) in enumerate(steps):
        now = NOON + jump
        said_at = None if age is None else now + age
        known = [] if current is None else [current]
        learning = learn(Statement(f"Ana lives in {town(number)}", topic=CITY, said_at=said_at), now, related=known)
        history += learning.superseded
        current = learning.stands or learning.fact  # old text stands only beside what is newer
    assert current is not None

    assert all(fact.valid_to is not None and fact.valid_from < fact.valid_to for fact in history)
    assert all(one.valid_to == next_one.valid_from for one, next_one in pairwise([*history, current]))


def test_a_fact_is_over_after_its_last_day() -> None:
    stays = replace(fact("Ana stays in Rome"), until=date(2026, 3, 10))

    assert not stays.is_over(datetime(2026, 3, 10, 23, 59, tzinfo=UTC))
    assert stays.is_over(datetime(2026, 3, 11, tzinfo=UTC))
    assert stays.last_day == date(2026, 3, 10)


def test_a_fact_that_announces_an_event_is_over_when_that_has_passed() -> None:
    dentist = fact("Ana sees the dentist on 2026-03-10.")

    assert [dentist.is_over(NOON + days * DAY) for days in (0, 9, 10)] == [False, False, True]
    assert dentist.last_day == date(2026, 3, 10)


def test_a_past_date_or_a_start_does_not_end_a_fact() -> None:
    born, works = fact("Ana was born on 1990-03-10."), fact("Ana works at Globex. First day: 2026-03-10.")

    assert not born.is_over(NOON + 9000 * DAY)
    assert not replace(works, since=date(2026, 3, 10)).is_over(NOON + 9000 * DAY)


def test_a_superseded_fact_was_true_until_that_day_unless_its_end_is_known() -> None:
    past = ended(fact(), NOON + DAY)

    assert past.is_over(NOON)
    assert past.last_day == date(2026, 3, 2)
    assert replace(past, until=date(2026, 2, 1)).last_day == date(2026, 2, 1)


def test_a_durable_fact_never_ends_by_itself() -> None:
    assert (fact().is_over(NOON + 9000 * DAY), fact().last_day) == (False, None)


def test_a_period_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="until must not be before since"):
        Statement("Ana lives in Bern", since=date(2026, 3, 2), until=date(2026, 3, 1))


def test_a_transient_fact_is_true_for_two_weeks_and_stays_as_history() -> None:
    travels = fact("Ana travels", permanence=Permanence.TRANSIENT)

    assert travels.expires_at is None
    assert [travels.is_over(NOON + days * DAY) for days in (0, 13, 14)] == [False, False, True]
    assert travels.last_day == date(2026, 3, 15)


def test_a_transient_fact_is_true_until_its_last_day_however_far_that_is() -> None:
    travels = learn(Statement("Ana travels", permanence=Permanence.TRANSIENT, until=date(2026, 9, 1)), NOON).fact

    assert not travels.is_over(NOON + 180 * DAY)
    assert travels.is_over(datetime(2026, 9, 2, tzinfo=UTC))


def test_an_expiry_makes_a_fact_transient() -> None:
    learned = learn(Statement("Travels to Rome", expires_at=NOON + 10 * DAY), NOON).fact

    assert (learned.permanence, learned.expires_at) == (Permanence.TRANSIENT, NOON + 10 * DAY)


@pytest.mark.parametrize("life", [timedelta(), -DAY, 30 * DAY + timedelta(seconds=1)])
def test_an_expiry_in_the_past_or_too_far_away_is_refused(life: timedelta) -> None:
    with pytest.raises(InvalidRequestError, match="at most 30 days"):
        learn(Statement("Travels to Rome", expires_at=NOON + life), NOON)


def test_old_text_about_something_transient_is_history_from_the_start() -> None:
    old = Statement("Travels to Rome", permanence=Permanence.TRANSIENT, said_at=NOON - 15 * DAY)

    assert learn(old, NOON).fact.is_over(NOON)


@pytest.mark.parametrize("permanence", [Permanence.PERMANENT, Permanence.DURABLE])
def test_only_a_transient_fact_expires(permanence: Permanence) -> None:
    assert fact(permanence=permanence).expires_at is None
    with pytest.raises(InvalidRequestError, match="does not expire"):
        Statement("Ana lives in Bern", permanence=permanence, expires_at=NOON + 10 * DAY)


def test_a_transient_fact_that_turns_out_durable_no_longer_expires() -> None:
    known = fact("Ana lives in Bern", permanence=Permanence.TRANSIENT)

    learning = learn(Statement("Ana lives in Bern", topic=CITY, permanence=Permanence.DURABLE), NOON, related=[known])

    assert (learning.fact.permanence, learning.fact.expires_at) == (Permanence.DURABLE, None)


def test_a_statement_with_a_future_time_counts_as_said_now() -> None:
    learned = learn(Statement("Ana lives in Bern", said_at=NOON + DAY), NOON).fact

    assert (learned.valid_from, learned.said_at) == (NOON, NOON)


def test_an_inference_may_be_given_the_life_of_a_durable_fact() -> None:
    learned = fact(source=Source.INFERRED, permanence=Permanence.DURABLE)

    assert confidence_at(learned, NOON + 730 * DAY) == pytest.approx(0.25)


def test_old_text_does_not_replace_a_later_statement() -> None:
    bern = learn(Statement("Anna lives in Bern", topic=CITY, said_at=NOON - DAY), NOON).fact

    learning = learn(Statement("Anna lives in Basel", topic=CITY, said_at=NOON - 100 * DAY), NOON, related=[bern])

    assert (learning.outcome, learning.stands) == (Outcome.CANDIDATE, bern)
