"""The periods that a question names."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.language.question_dates import Span, times_asked_for

NOW = datetime(2024, 3, 20, 15, 30, tzinfo=UTC)
"""A Wednesday."""


def day(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "start", "end"),
    [
        ("What did I do yesterday?", "2024-03-19", "2024-03-20"),
        ("What did I eat last night?", "2024-03-19", "2024-03-20"),
        ("the day before yesterday", "2024-03-18", "2024-03-19"),
        ("Who called today?", "2024-03-20", "2024-03-21"),
        ("Where was I on 5 May?", "2023-05-05", "2023-05-06"),
        ("Where was I on 5 March?", "2024-03-05", "2024-03-06"),
        ("on May 5th, 2022", "2022-05-05", "2022-05-06"),
        ("on the 5th of May 2022", "2022-05-05", "2022-05-06"),
        ("2022-05-05", "2022-05-05", "2022-05-06"),
        ("What happened in May 2023?", "2023-05-01", "2023-06-01"),
        ("What happened in December?", "2023-12-01", "2024-01-01"),
        ("Where did I go last March?", "2024-03-01", "2024-04-01"),
        ("What did I buy in 2023?", "2023-01-01", "2024-01-01"),
        ("three days ago", "2024-03-17", "2024-03-18"),
        ("Which book did I finish two weeks ago?", "2024-03-03", "2024-03-10"),
        ("a month ago", "2024-02-04", "2024-03-06"),
        ("a couple of weeks ago", "2024-03-03", "2024-03-10"),
        ("in the past 10 days", "2024-03-10", "2024-03-21"),
        ("What did I learn last week?", "2024-03-11", "2024-03-18"),
        ("this month", "2024-03-01", "2024-04-01"),
        ("last month", "2024-02-01", "2024-03-01"),
        ("last year", "2023-01-01", "2024-01-01"),
        ("on Monday", "2024-03-18", "2024-03-19"),
        ("last Wednesday", "2024-03-13", "2024-03-14"),
        ("Was habe ich gestern gesagt?", "2024-03-19", "2024-03-20"),
        ("Wo war ich am 5. Mai 2023?", "2023-05-05", "2023-05-06"),
        ("Was war im März?", "2024-03-01", "2024-04-01"),
        ("vor zwei Wochen", "2024-03-03", "2024-03-10"),
        ("letztes Jahr", "2023-01-01", "2024-01-01"),
        ("¿Qué hice ayer?", "2024-03-19", "2024-03-20"),
        ("el 5 de mayo de 2023", "2023-05-05", "2023-05-06"),
        ("¿Adónde fui en enero?", "2024-01-01", "2024-02-01"),
        ("hace tres días", "2024-03-17", "2024-03-18"),
        ("la semana pasada", "2024-03-11", "2024-03-18"),
        ("昨日何を食べた?", "2024-03-19", "2024-03-20"),
        ("去年の旅行", "2023-01-01", "2024-01-01"),
        ("2023年5月5日", "2023-05-05", "2023-05-06"),
        ("3月に何があった", "2024-03-01", "2024-04-01"),
        ("我昨天去了哪里", "2024-03-19", "2024-03-20"),
        ("上个月我买了什么", "2024-02-01", "2024-03-01"),
        ("3天前", "2024-03-17", "2024-03-18"),
    ],
)
def test_a_question_names_one_period(question: str, start: str, end: str) -> None:
    assert times_asked_for(question, NOW).spans == (Span(day(start), day(end)),)


@pytest.mark.parametrize(
    "question",
    ["", "May I ask you something?", "Do I march on?", "on 31 February", "the 12 apostles", "What is my favourite 2?"],
)
def test_a_question_without_a_time_names_no_period(question: str) -> None:
    assert times_asked_for(question, NOW).spans == ()


def test_several_periods_are_in_the_order_of_the_question() -> None:
    spans = times_asked_for("How many days between 7 March and 2 February 2024?", NOW).spans

    assert [span.start for span in spans] == [day("2024-03-07"), day("2024-02-02")]


def test_the_rest_of_a_question_is_without_the_periods() -> None:
    assert times_asked_for("Where was I last week?", NOW).rest.split() == ["where", "was", "i", "?"]


@given(st.text(max_size=80))
def test_any_text_can_be_parsed(question: str) -> None:
    for span in times_asked_for(question, NOW).spans:
        assert span.start < span.end
