"""Find the periods that a question names, seen from the moment at which it is asked.

A date without a year is in the past: "in May", asked in March, means May of the year before. "Two weeks ago" means
around then, because people round. Wordings that are not understood are ignored.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from mcp_memory_server.domain.language.calendar_words import (
    DAYS_BACK,
    MONTHS,
    NAMED_PERIODS,
    NUMBERS,
    UNIT_SIGNS,
    UNITS,
    WEEKDAYS,
    Unit,
)

_DAY = timedelta(days=1)
_LENGTHS = {"day": _DAY, "week": 7 * _DAY, "month": 30 * _DAY, "year": 365 * _DAY}
_ROUNDED = {"day": timedelta(0), "week": 3 * _DAY, "month": 15 * _DAY, "year": 90 * _DAY}
"""How far the meant day may be from the computed one, on either side."""
_FARTHEST_YEARS = 100


@dataclass(frozen=True)
class Span:
    """The period from ``start`` up to, but not including, ``end``."""

    start: datetime
    end: datetime


@dataclass(frozen=True)
class AskedTimes:
    """The periods that a question names, in order, and the rest of the question without them."""

    spans: tuple[Span, ...]
    rest: str


def times_asked_for(question: str, asked_at: datetime) -> AskedTimes:
    """Return the periods that the question names; none if it names none that is understood."""
    rest = question.casefold()
    if not _may_name_a_time(rest):
        return AskedTimes((), rest)
    found: dict[int, Span] = {}
    for wording, span_of in _WORDINGS:
        for match in list(wording.finditer(rest)):
            span = span_of(match, asked_at)
            if span is not None:
                found[match.start()] = span
                # Removed from the rest: "5 May 2023" is not also "May 2023" and "2023".
                rest = rest[: match.start()] + " " * len(match.group()) + rest[match.end() :]
    return AskedTimes(tuple(span for _, span in sorted(found.items())), rest)


def _may_name_a_time(text: str) -> bool:
    """Check cheaply whether the text may name a period: most questions do not."""
    return not text.isascii() or not _TIME_WORDS.isdisjoint(_WORD.findall(text)) or _DIGIT.search(text) is not None


def _day(match: re.Match[str], asked_at: datetime) -> Span | None:
    month, day = _month_number(match), int(match["day"])
    start = _date(_year(match), month, day, asked_at)
    return None if start is None else Span(start, start + _DAY)


def _month(match: re.Match[str], asked_at: datetime) -> Span | None:
    start = _date(_year(match), _month_number(match), 1, asked_at)
    return None if start is None else Span(start, _next_month(start))


def _whole_year(match: re.Match[str], asked_at: datetime) -> Span:
    return _period_back(asked_at, "year", asked_at.year - int(match["year"]))


def _days_back(match: re.Match[str], asked_at: datetime) -> Span:
    return _period_back(asked_at, "day", DAYS_BACK[match.group()])


def _named_period(match: re.Match[str], asked_at: datetime) -> Span:
    return _period_back(asked_at, *NAMED_PERIODS[match.group()])


def _ago(match: re.Match[str], asked_at: datetime) -> Span | None:
    unit, number = _unit_and_number(match)
    if number * _LENGTHS[unit] > _FARTHEST_YEARS * _LENGTHS["year"]:
        return None
    day = _midnight(asked_at) - number * _LENGTHS[unit]
    return Span(day - _ROUNDED[unit], day + _ROUNDED[unit] + _DAY)


def _up_to_now(match: re.Match[str], asked_at: datetime) -> Span | None:
    unit, number = _unit_and_number(match)
    if number * _LENGTHS[unit] > _FARTHEST_YEARS * _LENGTHS["year"]:
        return None
    return Span(_midnight(asked_at) - number * _LENGTHS[unit], _midnight(asked_at) + _DAY)


def _weekday(match: re.Match[str], asked_at: datetime) -> Span:
    back = (asked_at.weekday() - WEEKDAYS[match["weekday"]]) % 7 or 7
    return _period_back(asked_at, "day", back)


def _period_back(asked_at: datetime, unit: Unit, back: int) -> Span:
    today = _midnight(asked_at)
    if unit == "day":
        return Span(today - back * _DAY, today - (back - 1) * _DAY)
    if unit == "week":
        monday = today - today.weekday() * _DAY - back * 7 * _DAY
        return Span(monday, monday + 7 * _DAY)
    if unit == "month":
        months = today.year * 12 + today.month - 1 - back
        first = today.replace(year=months // 12, month=months % 12 + 1, day=1)
        return Span(first, _next_month(first))
    first = today.replace(year=today.year - back, month=1, day=1)
    return Span(first, first.replace(year=first.year + 1))


def _date(year: int | None, month: int, day: int, asked_at: datetime) -> datetime | None:
    """Return the day; without a year the last such day that is not in the future. None if no such day exists."""
    midnight = _midnight(asked_at)
    try:
        start = midnight.replace(year=year or asked_at.year, month=month, day=day)
        return start.replace(year=start.year - 1) if year is None and start > asked_at else start
    except ValueError:
        return None


def _unit_and_number(match: re.Match[str]) -> tuple[Unit, int]:
    unit = match["unit"]
    return UNITS.get(unit) or UNIT_SIGNS[unit], NUMBERS.get(match["number"]) or int(match["number"])


def _month_number(match: re.Match[str]) -> int:
    return MONTHS.get(match["month"]) or int(match["month"])


def _year(match: re.Match[str]) -> int | None:
    return int(match["year"]) if match["year"] else None


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _next_month(first: datetime) -> datetime:
    return (first + 31 * _DAY).replace(day=1)


def _one_of(names: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, names), key=lambda name: (-len(name), name)))


def _phrases(names: Iterable[str]) -> str:
    return "|".join(rf"\b{re.escape(name)}\b" if name[0] < "\u3000" else name for name in sorted(names, key=len)[::-1])


_WORD, _DIGIT = re.compile(r"\w+"), re.compile(r"\d")
_TIME_WORDS = frozenset(name.split()[-1] for name in (*MONTHS, *WEEKDAYS, *UNITS, *DAYS_BACK, *NAMED_PERIODS))

_OF = r"(?:\.|,|\s+of|\s+de|\s+del)?\s*"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_NAME = rf"(?P<month>{_one_of(MONTHS)})\b"
_NUMBER = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_COUNT = rf"(?P<number>\d{{1,3}}|{_one_of(NUMBERS)})"
_UNIT = rf"(?P<unit>{_one_of(UNITS)})\b"
# "may" and "march" are months only where a month is expected.
_BEFORE_MONTH = r"(?:in|im|en|last|this|since|during|of|early|late|mid|letzten|seit|desde|de|until|by|before|after)"

_WORDINGS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], datetime], Span | None]], ...] = tuple(
    (re.compile(pattern), span_of)
    for pattern, span_of in (
        (r"\b(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b", _day),
        (r"(?:(?P<year>(?:19|20)\d\d)年)?(?P<month>1[0-2]|[1-9])月(?P<day>[0-3]?\d)[日号]", _day),
        (r"(?:(?P<year>(?:19|20)\d\d)年)?(?P<month>1[0-2]|[1-9])月", _month),
        (rf"\b{_NUMBER}{_OF}{_NAME}(?:{_OF}{_YEAR}\b)?", _day),
        (rf"\b{_NAME}\.?\s+{_NUMBER}\b(?:{_OF}{_YEAR}\b)?", _day),
        (rf"\b{_NAME}{_OF}{_YEAR}\b", _month),
        (rf"\b{_BEFORE_MONTH}\s+{_NAME}(?P<year>)", _month),
        (rf"\b{_COUNT}\s+(?:of\s+)?{_UNIT}\s+(?:ago|back|earlier)\b", _ago),
        (rf"\b(?:vor|hace)\s+{_COUNT}\s+{_UNIT}", _ago),
        (rf"(?P<number>\d{{1,3}})(?P<unit>{_one_of(UNIT_SIGNS)})前", _ago),
        (rf"\b(?:last|past|previous|letzten|vergangenen|últimos|últimas)\s+{_COUNT}\s+{_UNIT}", _up_to_now),
        (_phrases(DAYS_BACK), _days_back),
        (_phrases(NAMED_PERIODS), _named_period),
        (rf"\b(?:on|last|am|letzten|el|este)\s+(?P<weekday>{_one_of(WEEKDAYS)})\b", _weekday),
        (rf"(?:\b(?:in|since|during|of|en|seit|im jahr|desde)\s+{_YEAR}\b)", _whole_year),
        (r"(?P<year>(?:19|20)\d\d)年", _whole_year),
    )
)
