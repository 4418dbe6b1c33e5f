"""Dates in facts are parsed only where they are unambiguous."""

import copy
from datetime import date

import pytest

from mcp_memory_server.domain.facts.dates import dates_in, event_day, first_day, last_day
from mcp_memory_server.errors import InvalidRequestError

THIRD = date(2026, 10, 3)
BEFORE = date(2026, 9, 1)


@pytest.mark.parametrize(
    "text",
    [
        "The dentist is on 2026-10-03.",
        "The dentist is at 2026-10-03T14:30:00Z.",
        "The dentist is on 3 October 2026.",
        "The dentist is on the 3rd of October 2026, in town.",
        "The dentist is on 3 Oct. 2026",
        "The dentist is on October 3, 2026.",
        "The dentist is on oct 3rd 2026!",
        "Zahnarzt am 3. Oktober 2026.",
        "Zahnarzt am 3.10.2026.",
        "Zahnarzt am 03.10.2026, 14 Uhr",
        "El dentista es el 3 de octubre de 2026.",
        "El dentista es el 3 de octubre del 2026.",
        "歯医者は2026年10月3日です。",
        "歯医者は\uff12\uff10\uff12\uff16年\uff11\uff10月\uff13日です。",
        "牙医:2026 年 10 月 3 日",
    ],
)
def test_a_full_date_is_found_in_the_text(text: str) -> None:
    assert dates_in(text) == [THIRD]


@pytest.mark.parametrize(
    "text",
    [
        "Ana likes tea.",
        "The dentist is on 10/3/2026.",
        "The dentist is in October 2026.",
        "The dentist is on 3 October.",
        "The dentist is on 30 February 2026.",
        "The number is 12026-10-031.",
        "Uses version 3.10.2026.1 of the library.",
        "Born on 2026-13-03",
        "Paid 1,203.10.2026",
    ],
)
def test_a_partial_or_ambiguous_date_is_ignored(text: str) -> None:
    assert dates_in(text) == []


def test_several_dates_are_found_in_their_order_and_each_once() -> None:
    text = "From October 3, 2026 until 2026-10-12, so not on 3.10.2026 and not on 1 May 2025."

    assert dates_in(text) == [THIRD, date(2026, 10, 12), date(2025, 5, 1)]


def test_the_only_date_of_a_fact_is_its_event_if_it_was_in_the_future() -> None:
    text = "Ana has a dentist appointment on 2026-10-03."

    assert event_day(text, BEFORE) == THIRD
    assert event_day(text, date(2026, 10, 2)) == THIRD
    assert event_day(text, THIRD) is None
    assert event_day(text, date(2026, 10, 4)) is None


@pytest.mark.parametrize(
    "text",
    [
        "Ana is in Rome from 2026-10-03 until 2026-10-12.",
        "Ana works at Globex from 2026-10-03.",
        "Ana works at Globex starting October 3, 2026.",
        "Ana arbeitet ab 3.10.2026 bei Globex.",
        "Ana trabaja en Globex a partir del 3 de octubre de 2026.",
        "アナは2026年10月3日からGlobexで働く。",
        "Ana likes tea.",
    ],
)
def test_a_start_or_a_period_is_no_event(text: str) -> None:
    assert event_day(text, BEFORE) is None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026-03-02", date(2026, 3, 2), date(2026, 3, 2)),
        (" 2026-03-02T10:00:00+02:00 ", date(2026, 3, 2), date(2026, 3, 2)),
        ("2026-02", date(2026, 2, 1), date(2026, 2, 28)),
        ("2024-02", date(2024, 2, 1), date(2024, 2, 29)),
        ("2026", date(2026, 1, 1), date(2026, 12, 31)),
    ],
)
def test_a_month_or_a_year_means_its_first_or_its_last_day(text: str, first: date, last: date) -> None:
    assert (first_day("since", text), last_day("until", text)) == (first, last)


@pytest.mark.parametrize("text", ["2026-03-02", "2026-03", "2026"])
def test_a_date_is_shown_as_precisely_as_it_was_given(text: str) -> None:
    day = copy.deepcopy(first_day("since", text))

    assert (str(day), f"since {day}", str(last_day("until", text))) == (text, f"since {text}", text)


@pytest.mark.parametrize("text", ["", "soon", "03/02/2026", "2026-02-30", "2026-13", "26", "2026-3-2", "0000"])
def test_an_invalid_date_is_refused_with_the_name_of_the_argument_and_an_example(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="until must be a date like 2026-03-02, 2026-03 or 2026"):
        last_day("until", text)
