"""Dates of the next weeks are upcoming, and reminders until a week after their day."""

from datetime import date, timedelta

import pytest

from mcp_memory_server.domain.facts.dates import last_day
from mcp_memory_server.domain.facts.fact import Fact, Statement
from mcp_memory_server.domain.facts.learning import learn
from mcp_memory_server.domain.facts.upcoming import due
from tests.domain.samples import DAY, NOON

TODAY = NOON.date()
LEARNED = NOON - 60 * DAY


def fact(text: str, *, since: date | None = None, until: date | None = None, remind_on: date | None = None) -> Fact:
    statement = Statement(text, since=since, until=until, remind_on=remind_on)
    return learn(statement, LEARNED).fact


def label(known: Fact, days_later: int = 0) -> str | None:
    found = due(known, NOON + days_later * DAY)
    return None if found is None else found.label


@pytest.mark.parametrize(
    ("days", "told"),
    [
        (-43, None),
        (-42, "reminder: 2026-03-01, in 42 days"),
        (-1, "reminder: 2026-03-01, tomorrow"),
        (0, "reminder: due today"),
        (1, "reminder: due since yesterday"),
        (7, "reminder: due since 2026-03-01"),
        (8, None),
    ],
)
def test_a_reminder_is_shown_beforehand_and_for_a_week_after_its_day(days: int, told: str | None) -> None:
    assert label(fact("Call the dentist", remind_on=TODAY), days) == told


def test_a_reminder_outlives_the_day_that_it_is_about() -> None:
    exam = fact("The exam is on 2026-03-01", remind_on=TODAY)

    assert exam.is_over(NOON + 2 * DAY)
    assert label(exam, 2) == "reminder: due since 2026-03-01"


def test_the_only_date_of_a_text_comes_up_until_it_has_passed() -> None:
    exam = fact("The exam is on 3 March 2026")

    assert [label(exam, days) for days in (-41, -40, 0, 2, 3)] == [
        None,
        "2026-03-03, in 42 days",
        "2026-03-03, in 2 days",
        "2026-03-03, today",
        None,
    ]


def test_a_period_that_begins_or_ends_soon_comes_up() -> None:
    assert label(fact("Is in Rome", until=TODAY + timedelta(days=3))) == "until 2026-03-04, in 3 days"
    assert label(fact("Works at Globex", since=TODAY + timedelta(days=1))) == "from 2026-03-02, tomorrow"
    assert label(fact("Works at Acme", since=TODAY - timedelta(days=1))) is None


def test_of_several_dates_of_a_text_the_next_one_comes_up() -> None:
    journey = fact("Flies to Oslo on 2026-03-02 and returns on 2026-03-05")

    assert [label(journey, days) for days in (0, 2, 5)] == [
        "2026-03-02, tomorrow",
        "2026-03-05, in 2 days",
        None,
    ]


def test_the_end_of_a_month_comes_up_as_that_month() -> None:
    assert label(fact("On parental leave", until=last_day("until", "2026-03"))) == "until 2026-03"
