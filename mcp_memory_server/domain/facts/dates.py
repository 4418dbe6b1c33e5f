"""Parse dates of facts: those given as arguments, and those in the text of a fact."""

import calendar
import re
import unicodedata
from collections.abc import Iterator
from datetime import date, timedelta

from mcp_memory_server.domain.language.calendar_words import MONTHS
from mcp_memory_server.errors import InvalidRequestError

LONGEST_SINCE_A_CHANGE = timedelta(days=400)
"""A date in a fact about a change is taken as the date of the change if it is at most this old."""

_DAY, _YEAR = r"(?P<day>\d{1,2})", r"(?P<year>\d{4})"
_MONTH_NAME = rf"(?P<name>{'|'.join(sorted(MONTHS, key=len, reverse=True))})"
# A number must not be part of a longer one, of a version or of an amount.
_ALONE = r"(?<![\d.,/-])"
_END = r"(?![\d/-]|[.,]\d)"

_FORMS = tuple(
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"{_ALONE}{_YEAR}-(?P<month>\d{{2}})-(?P<day>\d{{2}})(?=T\d|\b){_END}",
        rf"{_ALONE}{_DAY}(?:st|nd|rd|th|\.)?(?:\s+(?:of|de))?\s+{_MONTH_NAME}\b\.?,?(?:\s+del?)?\s+{_YEAR}{_END}",
        rf"\b{_MONTH_NAME}\b\.?\s+{_DAY}(?:st|nd|rd|th)?,?\s+{_YEAR}{_END}",
        rf"{_ALONE}{_DAY}\.\s?(?P<month>\d{{1,2}})\.\s?{_YEAR}{_END}",
        rf"(?<!\d){_YEAR}\s?年\s?(?P<month>\d{{1,2}})\s?月\s?{_DAY}\s?日",
    )
)
# "Works at Globex from 2026-11-01" is true from that day on: the date is not that of an event.
_BEGINS = re.compile(
    r"\b(?:from|since|starting|starting on|as of|beginning|ab|seit|von|desde|desde el|a partir del?)(?: the)?\s*$",
    re.IGNORECASE,
)
_BEGINS_AFTER = re.compile(r"^\s*(?:から|以降|起|开始|開始)")
_HAS_YEAR = re.compile(r"\d{4}")
_PARTIAL = re.compile(r"(?P<year>\d{4})(?:-(?P<month>\d{2}))?")
_FULL = re.compile(r"\d{4}-\d{2}-\d{2}(?=$|[T ])")


class RoughDay(date):
    """The first or the last day of a month or a year of which the day is not known. As text it is that month or year.

    It is a subclass for each precision, so that copies and serialised values keep it.
    """

    _known = 7

    def __str__(self) -> str:
        return self.isoformat()[: self._known]


class DayOfMonth(RoughDay):
    """The first or the last day of a month."""


class DayOfYear(RoughDay):
    """The first or the last day of a year."""

    _known = 4


def first_day(argument: str, text: str) -> date:
    """Parse a date, or the first day of a month ("2026-03") or a year ("2026").

    Raises:
        InvalidRequestError: It is none of these. The message names the argument.
    """
    return _day(argument, text, last=False)


def last_day(argument: str, text: str) -> date:
    """Parse a date, or the last day of a month ("2026-03") or a year ("2026").

    Raises:
        InvalidRequestError: It is none of these. The message names the argument.
    """
    return _day(argument, text, last=True)


def dates_in(text: str) -> list[date]:
    """Return the full dates in the text, in order and without duplicates.

    Only unambiguous ones: "3 October 2026", "October 3, 2026", "3.10.2026", "3 de octubre de 2026", "2026年10月3日" and
    ISO dates. "10/3/2026" means another day in each country, and "October 2026" is no day.
    """
    return list(dict.fromkeys(day for _, _, day in _found(text)))


def event_day(fact_text: str, learned: date) -> date | None:
    """Return the day of the event that a fact announces: its only date, if it was in the future when the fact was
    learned.

    A date from which something is true ("from 2026-11-01") announces no event.
    """
    found = _found(fact_text)
    days = {day for _, _, day in found}
    if len(days) != 1 or (day := days.pop()) <= learned:
        return None
    plain = _plain(fact_text)
    begins = any(_BEGINS.search(plain[:start]) or _BEGINS_AFTER.match(plain[end:]) for start, end, _ in found)
    return None if begins else day


def change_day(fact_text: str, learned: date) -> date | None:
    """Return the day of the change that a new value reports: its only date, if it is in the recent past.

    "Ana moved to Lisbon on 2026-03-02" says until when she lived elsewhere; a date of birth does not.
    """
    days = dates_in(fact_text)
    return days[0] if len(days) == 1 and learned - LONGEST_SINCE_A_CHANGE <= days[0] <= learned else None


def _found(text: str) -> list[tuple[int, int, date]]:
    """Return the start, the end and the day of each date."""
    if not _HAS_YEAR.search(text):
        return []  # most facts
    plain = _plain(text)
    return sorted(found for form in _FORMS for match in form.finditer(plain) for found in _read(match))


def _read(match: re.Match[str]) -> Iterator[tuple[int, int, date]]:
    parts = match.groupdict()
    month = MONTHS[parts["name"].lower()] if "name" in parts else int(parts["month"])
    try:
        yield match.start(), match.end(), date(int(parts["year"]), month, int(parts["day"]))
    except ValueError:
        return  # no such day exists


def _plain(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _day(argument: str, text: str, *, last: bool) -> date:
    typed = text.strip()
    try:
        if full := _FULL.match(typed):
            return date.fromisoformat(full.group())
        if partial := _PARTIAL.fullmatch(typed):
            return _edge(int(partial["year"]), partial["month"], last=last)
    except ValueError:
        pass  # the 30th of February
    raise InvalidRequestError(f"{argument} must be a date like 2026-03-02, 2026-03 or 2026, got {text[:40]!r}")


def _edge(year: int, month: str | None, *, last: bool) -> RoughDay:
    number = int(month) if month else 12 if last else 1
    known = DayOfMonth if month else DayOfYear
    return known(year, number, calendar.monthrange(year, number)[1] if last else 1)
