"""Find a birthday in the text of a fact, and work out when it comes round again."""

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from mcp_memory_server.domain.language.calendar_words import MONTHS

FARTHEST_AFTER = 40
"""The most characters between a birth word and a date after it: "was born in Ghent, Belgium, on 8 December"."""
FARTHEST_BEFORE = 20
"""The same for a date before the birth word: "8 December is Ida's birthday"."""
LEAP_YEAR = 2000

_MORE_MONTHS = (
    "janvier janeiro gennaio",
    "février fevereiro febbraio",
    "mars março",
    "avril aprile",
    "maio maggio",
    "juin junho giugno",
    "juillet julho luglio",
    "août",
    "septembre setembro settembre",
    "octobre outubro ottobre",
    "novembre novembro",
    "décembre dezembro dicembre diciembre",
)
_MONTHS = {**MONTHS, **{name: month for month, names in enumerate(_MORE_MONTHS, 1) for name in names.split()}}
_NAME = rf"(?P<name>{'|'.join(sorted(_MONTHS, key=len, reverse=True))})\b\.?"
_DAY, _YEAR = r"(?<![\d.,/-])(?P<day>\d{1,2})", r"(?P<year>\d{4})(?!\d)"
_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?<![\d-]){_YEAR}-(?P<month>\d{{2}})-(?P<day>\d{{2}})(?![\d-])",
        rf"{_DAY}(?:st|nd|rd|th|er|\.|º)?\s+(?:(?:of|de)\s+)?{_NAME}(?:,?\s+(?:del?\s+)?{_YEAR})?",
        rf"\b{_NAME}\s+(?P<day>\d{{1,2}})(?!\d)(?:st|nd|rd|th)?(?:,?\s+{_YEAR})?",
        rf"{_DAY}\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}",
        r"(?:(?P<year>\d{4})\s?年\s?)?(?<!\d)(?P<month>\d{1,2})\s?月\s?(?P<day>\d{1,2})\s?[日号號]",
    )
)
# A "birthday present" is no birthday; "the baker born to bake" has no date nearby.
_BIRTH = re.compile(
    r"\b(?:born|birth ?date|date of birth|"
    r"birthday(?! (?:party|presents?|gifts?|cards?|cake|dinner|lunch|trip|budget|wish\w*|celebration|surprise))|"
    r"geboren|geburtstag|geburtsdatum|nació|nacid[oa]|nacimiento|cumpleaños|cumple|nasceu|nascid[oa]|aniversário|"
    r"née? le|anniversaire|naissance|nat[oa] il|compleanno)\b|誕生日|生まれ|生年月日|生日|出生",
    re.IGNORECASE,
)
# The search for birth words is slow, and most texts have no number or contain no beginning of such a word.
_HAS_NUMBER = re.compile(r"\d")
_MAY_MENTION_BIRTH = re.compile("b(?:orn|irth)|geb(?:or|urt)|cumple|n(?:ac|asc|ais|ée?|at[oa])|ann?ivers|complean|生")
_NEXT_SENTENCE = re.compile(r"[;。!?]|(?<!\d)\.\s")


class Birthday(NamedTuple):
    """A day of each year; ``year`` is that of the birth, None if unknown."""

    month: int
    day: int
    year: int | None = None


def birthday_in(text: str) -> Birthday | None:
    """Return the birthday that the text names: a date close to a birth word. None without a day and a month."""
    if not (_HAS_NUMBER.search(text) and _MAY_MENTION_BIRTH.search(text.lower())):
        return None
    births = [match.span() for match in _BIRTH.finditer(text)]
    if not births:
        return None
    dates = sorted(_dates(text))
    after = [found for _, end in births for at, _, found in dates if _is_near(text, end, at, FARTHEST_AFTER)]
    before = [found for start, _ in births for _, end, found in dates if _is_near(text, end, start, FARTHEST_BEFORE)]
    return next(iter([*after, *before]), None)


def next_birthday(text: str, today: date) -> date | None:
    """Return the next birthday that the text names, today included.

    None if the full date is still to come: such a date is an event, which happens once.
    """
    birthday = birthday_in(text)
    if birthday is None or (birthday.year is not None and _on(birthday, birthday.year) > today):
        return None
    this_year = _on(birthday, today.year)
    return this_year if this_year >= today else _on(birthday, today.year + 1)


def _is_near(text: str, end: int, start: int, farthest: int) -> bool:
    return 0 <= start - end <= farthest and not _NEXT_SENTENCE.search(text, end, start)


def _dates(text: str) -> Iterator[tuple[int, int, Birthday]]:
    for form in _FORMS:
        for match in form.finditer(text):
            parts = match.groupdict()
            month = _MONTHS[parts["name"].lower()] if "name" in parts else int(parts["month"])
            year = int(parts["year"]) if parts["year"] else None
            birthday = Birthday(month, int(parts["day"]), year)
            if _is_a_day(birthday):
                yield match.start(), match.end(), birthday


def _is_a_day(birthday: Birthday) -> bool:
    try:
        date(birthday.year or LEAP_YEAR, birthday.month, birthday.day)
    except ValueError:
        return False
    return birthday.year is None or birthday.year < date.max.year


def _on(birthday: Birthday, year: int) -> date:
    """Return the birthday in a year; 29 February becomes the 28th in a common year."""
    try:
        return date(year, birthday.month, birthday.day)
    except ValueError:
        return date(year, birthday.month, 28)
