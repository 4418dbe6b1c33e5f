"""Find the upcoming days of a fact: dates, reminders and birthdays of the next weeks."""

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from mcp_memory_server.domain.facts.birthdays import next_birthday
from mcp_memory_server.domain.facts.dates import RoughDay, dates_in
from mcp_memory_server.domain.facts.fact import Fact, Permanence, Standing

LOOKED_AHEAD = timedelta(weeks=6)
MOST_NAMED = 4
"""So many dates of a text are looked at: a journey has two, and a text with many is a list."""
REMINDED_FOR = timedelta(days=7)
"""How long a reminder is shown after its day."""

# Every date that can be parsed has a year of four digits. The search for dates is slow, and most texts have none.
_MAY_NAME_A_DAY = re.compile(r"(?<!\d)\d{4}(?!\d)")


@dataclass(frozen=True)
class Due:
    """An upcoming day and its label."""

    day: date
    label: str


def days_of(fact: Fact) -> tuple[date, ...]:
    """Return the days that a fact names or was given. Whether one is shown is decided when it is near."""
    given = [day for day in (fact.remind_on, fact.until, fact.since) if day is not None]
    named = dates_in(fact.text) if _MAY_NAME_A_DAY.search(fact.text) else []
    return tuple(dict.fromkeys([*given, *named[:MOST_NAMED]]))


def days_near(fact: Fact, today: date) -> tuple[date, ...]:
    """Return the days of a fact together with the next birthday, which depends on today."""
    birthday = next_birthday(fact.text, today)
    return days_of(fact) if birthday is None else tuple(dict.fromkeys([*days_of(fact), birthday]))


def end_of(fact: Fact) -> datetime | None:
    """Return when the fact ends by itself, without the slow search for dates in a text that has none."""
    may_end = fact.until is not None or fact.permanence is Permanence.TRANSIENT
    return fact.ends_at if may_end or _MAY_NAME_A_DAY.search(fact.text) else None


def due(fact: Fact, now: datetime) -> Due | None:
    """Return the next upcoming day of the fact; None if it has none in the next weeks.

    A reminder is due from its day on, for a week, even if the event itself has passed.
    """
    today = now.date()
    if fact.standing is not Standing.CURRENT:
        return None
    if fact.remind_on is not None and today - REMINDED_FOR <= fact.remind_on <= today + LOOKED_AHEAD:
        return Due(fact.remind_on, f"{_due(fact.remind_on, today)}")
    if fact.is_over(now):
        return None
    near = [day for day in days_of(fact) if day != fact.remind_on and today <= day <= today + LOOKED_AHEAD]
    if not near:
        return _birthday(fact, today)
    day = min(near)
    what = "until " if day == fact.until else "from " if day == fact.since else ""
    return Due(day, f"{what}{_when(day, today)}")


def _birthday(fact: Fact, today: date) -> Due | None:
    day = next_birthday(fact.text, today)
    if day is None or day > today + LOOKED_AHEAD:
        return None
    return Due(day, f"birthday {_when(day, today)}")


def in_days(day: date, today: date) -> str:
    """Return the distance of a day in words."""
    days = (day - today).days
    match days:
        case 0:
            return "today"
        case 1:
            return "tomorrow"
        case -1:
            return "yesterday"
        case _:
            return f"in {days} days" if days > 0 else f"{-days} days ago"


def _due(day: date, today: date) -> str:
    if day == today:
        return "reminder: due today"
    if day < today:
        return f"reminder: due since {'yesterday' if (today - day).days == 1 else day}"
    return f"reminder: {_when(day, today)}"


def _when(day: date, today: date) -> str:
    """Return the day and its distance; of a month or a year the distance is not known."""
    return str(day) if isinstance(day, RoughDay) else f"{day}, {in_days(day, today)}"
