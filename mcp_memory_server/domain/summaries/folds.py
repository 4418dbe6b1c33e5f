"""How summaries fold: sessions into their week after 7 days, weeks into their month after 30, then into the profile."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby

from mcp_memory_server.domain.language.mentions import is_same_matter
from mcp_memory_server.domain.summaries.summary import (
    BUILT_IN,
    MOST_PREFERENCES,
    MOST_QUESTIONS,
    MOST_RESOLVED,
    NARRATIVE_ID,
    Level,
    Sentiment,
    Summary,
    question_key,
)

SESSION_BY_SESSION = timedelta(days=7)
WEEK_BY_WEEK = timedelta(days=30)
FOLDED_AT_ONCE = 6
"""So many are written at once beside what they fold into: the table takes 10 writes together."""

_MOST_SENTENCES = {Level.WEEK: 7, Level.MONTH: 6, Level.PROFILE: 0}
_SENTENCES_OF_EACH = {Level.WEEK: 1, Level.MONTH: 2, Level.PROFILE: 0}
_MOST_TOPICS = {Level.WEEK: 10, Level.MONTH: 10, Level.PROFILE: 20}


def fold_day(summary: Summary) -> date | None:
    """Return the first day on which the summary is to be folded, None if it never is."""
    match summary.level:
        case Level.SESSION:
            return _day_after(summary.until + SESSION_BY_SESSION)
        case Level.WEEK:
            return _day_after(_last_moment(summary.id) + WEEK_BY_WEEK)
        case _:
            return None


def folds(summaries: Iterable[Summary], now: datetime) -> list[tuple[Level, str, list[Summary]]]:
    """Return what is to be folded at this moment, into what, oldest first, a few summaries at a time."""
    due = [one for one in summaries if (day := fold_day(one)) is not None and day <= now.astimezone(UTC).date()]
    due.sort(key=lambda one: (_target(one), one.until, one.id))
    found: list[tuple[Level, str, list[Summary]]] = []
    for (level, name), group in groupby(due, key=_target):
        some = list(group)
        found += [
            (Level(level), name, some[start : start + FOLDED_AT_ONCE]) for start in range(0, len(some), FOLDED_AT_ONCE)
        ]
    return sorted(found, key=lambda fold: fold[2][0].until)


def folded(level: Level, name: str, known: Summary | None, more: Sequence[Summary]) -> Summary:
    """Return what is known of a week, a month or all of the time, together with these summaries."""
    parts: list[Summary] = sorted([*more, *([] if known is None else [known])], key=lambda part: part.until)
    resolved = frozenset[str]().union(*(part.resolved for part in parts))
    questions = [question for part in parts for question in part.unresolved if question_key(question) not in resolved]
    return Summary(
        level,
        name,
        since=min(part.since for part in parts),
        until=max(part.until for part in parts),
        discussed=_sentences(level, known, more),
        preferences=_newest([one for part in parts for one in part.preferences], MOST_PREFERENCES),
        unresolved=() if level is Level.PROFILE else _newest(questions, MOST_QUESTIONS),
        resolved=frozenset() if level is Level.PROFILE else frozenset(sorted(resolved)[:MOST_RESOLVED]),
        topics=_topics(level, parts),
        sentiment=_sentiment(parts),
        turn_count=sum(part.turn_count for part in parts),
        session_count=sum(part.session_count for part in parts),
        made_by=BUILT_IN,
    )


def narrated(narrative: Summary | None, more: Sequence[Summary]) -> Summary:
    """Return the profile with these summaries in it: what the user came for over all the time, and how often."""
    return folded(Level.PROFILE, NARRATIVE_ID, narrative, more)


def without(summary: Summary, unwanted: frozenset[str]) -> Summary:
    """Return the summary without these sentences and topics, wherever they stand in it."""
    return replace(
        summary,
        discussed=tuple(one for one in summary.discussed if one not in unwanted),
        preferences=tuple(one for one in summary.preferences if one not in unwanted),
        unresolved=tuple(one for one in summary.unresolved if one not in unwanted),
        topics={topic: times for topic, times in summary.topics.items() if topic not in unwanted},
    )


def week_of(moment: datetime) -> str:
    """Return the name of a week: its year and number."""
    year, week, _ = moment.astimezone(UTC).isocalendar()
    return f"{year}-W{week:02}"


def _target(summary: Summary) -> tuple[str, str]:
    if summary.level is Level.SESSION:
        return Level.WEEK.value, week_of(summary.until)
    return Level.MONTH.value, f"{_last_moment(summary.id):%Y-%m}"


def _last_moment(week: str) -> datetime:
    year, number = week.split("-W")
    return datetime.combine(date.fromisocalendar(int(year), int(number), 7), time.max, UTC)


def _day_after(moment: datetime) -> date:
    return moment.astimezone(UTC).date() + timedelta(days=1)


def _sentences(level: Level, known: Summary | None, more: Sequence[Summary]) -> tuple[str, ...]:
    """Return the first sentences of each part, the newest if there are too many, and none that repeats another."""
    each = _SENTENCES_OF_EACH[level]
    sentences = [
        *(known.discussed if known else ()),
        *(sentence for part in more for sentence in part.discussed[:each]),
    ]
    kept: list[str] = []
    for sentence in sentences:
        kept = [one for one in kept if not is_same_matter(one, sentence)]
        kept.append(sentence)
    return tuple(kept[-_MOST_SENTENCES[level] :]) if _MOST_SENTENCES[level] else ()


def _newest(sentences: Sequence[str], most: int) -> tuple[str, ...]:
    each_once = {question_key(one): one for one in reversed(sentences)}
    return tuple(reversed(list(each_once.values())[:most]))


def _topics(level: Level, parts: Sequence[Summary]) -> Mapping[str, int]:
    counts: Counter[str] = Counter()
    for part in parts:
        counts.update(part.topics)
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0]))[: _MOST_TOPICS[level]])


def _sentiment(parts: Sequence[Summary]) -> Sentiment:
    heard = {part.sentiment for part in parts} - {Sentiment.NEUTRAL}
    return Sentiment.NEUTRAL if not heard else heard.pop() if len(heard) == 1 else Sentiment.MIXED
