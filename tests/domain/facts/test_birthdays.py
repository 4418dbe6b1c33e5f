"""Birthdays are found in several languages, and the next one is computed."""

from datetime import date

import pytest

from mcp_memory_server.domain.facts.birthdays import birthday_in, next_birthday

TODAY = date(2026, 11, 18)
DECEMBER_8 = date(2026, 12, 8)


@pytest.mark.parametrize(
    "text",
    [
        "Íñigo was born on 8 December 1982 (turns 44 on 2026-12-08).",
        "Íñigo was born in Castellón, Spain, on December 8, 1982.",
        "Her birthday is on 8 December.",
        "December 8th is Ida's birthday.",
        "Date of birth: 1982-12-08",
        "Jan wurde am 8. Dezember 1982 in Kiel geboren.",
        "Geboren am 8.12.1982",
        "Pablo nació el 8 de diciembre de 1982.",
        "El cumpleaños de Inés es el 8 de diciembre.",
        "Elle est née le 8 décembre 1982.",
        "A Rita nasceu em 8 de dezembro de 1982.",
        "È nato il 8 dicembre 1982.",
        "誕生日は12月8日です。",
        "1982年12月8日生まれ。",
        "她的生日是12月8日。",
    ],
)
def test_a_birth_word_with_a_day_and_a_month_is_a_birthday(text: str) -> None:
    assert next_birthday(text, TODAY) == DECEMBER_8


@pytest.mark.parametrize(
    "text",
    [
        "Ida was born in 1982.",
        "Ida was born in Plovdiv. She moved on 8 December 2020.",
        "The birthday party is on 8 December.",
        "Buy a birthday present by 8 December.",
        "The meeting is on 8 December.",
        "Born on 31 February 1982.",
        "The baby will be born on 2026-12-08.",
    ],
)
def test_other_dates_are_no_birthdays(text: str) -> None:
    assert next_birthday(text, TODAY) is None


def test_the_next_birthday_is_today_on_the_day_itself_and_next_year_on_the_day_after() -> None:
    assert next_birthday("Born on 18 November 1990", TODAY) == TODAY
    assert next_birthday("Born on 17 November 1990", TODAY) == date(2027, 11, 17)


def test_a_birth_on_29_february_has_a_birthday_each_year() -> None:
    assert next_birthday("Born on 29 February 2000", date(2027, 1, 5)) == date(2027, 2, 28)
    assert next_birthday("Born on 29 February 2000", date(2028, 1, 5)) == date(2028, 2, 29)


def test_of_several_dates_the_one_after_the_birth_word_counts() -> None:
    found = birthday_in("Stanka turns 70 on 2026-09-29 (birthday 29 September, born 1956).")
    assert found is not None
    assert (found.month, found.day) == (9, 29)
