"""The hand-off: a short section about earlier conversations, however many there were."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from mcp_memory_server.domain.context.page import ContextPage
from mcp_memory_server.domain.kernel.text import one_line, shortened
from mcp_memory_server.domain.language.mentions import is_stale
from mcp_memory_server.domain.recall.replies.answers import SMALLEST_BUDGET, reply_text
from mcp_memory_server.domain.summaries.summary import Level, Sentiment, Summary, open_questions

MOST_TOKENS = 360
"""The limit for a large page; on a small page it is its share."""
SHARE = 0.45
MOST_OPEN = 4
MOST_TOPICS = 5
LONGEST_LINE = 220
_LEVELS = (Level.SESSION, Level.WEEK, Level.MONTH)


@dataclass(frozen=True)
class Change:
    """A superseded statement, the current one, and when it changed."""

    earlier: str
    current: str
    at: datetime


@dataclass(frozen=True)
class HandOff:
    """The summaries of a user, newest first, without superseded statements."""

    summaries: Sequence[Summary] = ()

    def last_conversation_at(self, session_id: str | None, now: datetime) -> datetime | None:
        """Return when the last conversation ended; None if there is none."""
        return max((one.until for one in self._summaries_for(session_id, now)), default=None)

    def section(self, session_id: str | None, now: datetime, count: Callable[[str], int], room: int) -> str:
        """Return the section of a page, within this many tokens; "" if there is nothing to show.

        The running session is left out.
        """
        lines: list[str] = []
        for line in _lines(self._summaries_for(session_id, now), now):
            cost = count(line) + 1
            if cost > room:
                break
            lines.append(line)
            room -= cost
        return "\n".join(lines) if len(lines) > 1 else ""

    def _summaries_for(self, session_id: str | None, now: datetime) -> list[Summary]:
        unexpired = (one for one in self.summaries if one.expires_at is None or now < one.expires_at)
        return [one for one in unexpired if one.level is not Level.SESSION or one.id != session_id]


def page_with_handoff(
    handoff: HandOff,
    session_id: str | None,
    now: datetime,
    count: Callable[[str], int],
    max_tokens: int,
    urgent: int,
    write: Callable[[str], ContextPage],
) -> ContextPage:
    """Return the page with the hand-off, which has its share of the budget and takes no room from urgent entries."""
    room = min(MOST_TOKENS, int(max_tokens * SHARE), max_tokens - urgent)
    while room > 0:
        section = handoff.section(session_id, now, count, room)
        if section and max_tokens - count(reply_text({"": section})) >= SMALLEST_BUDGET:
            page = write(section)
            if count(reply_text(page.to_reply())) <= max_tokens:
                return page
        room = room // 2 if section else 0
    return write("")


def without_changes(summary: Summary, changes: Sequence[Change]) -> Summary:
    """Return the summary without sentences that were superseded since it was made, or during its conversations."""
    earlier = [change for change in changes if summary.since <= change.at]

    def holds(sentence: str) -> bool:
        return not any(is_stale(sentence, change.earlier, change.current) for change in earlier)

    return replace(
        summary,
        discussed=tuple(filter(holds, summary.discussed)),
        preferences=tuple(filter(holds, summary.preferences)),
        topics={topic: times for topic, times in summary.topics.items() if holds(topic)},
    )


def _lines(summaries: Sequence[Summary], now: datetime) -> Iterator[str]:
    """Yield the lines of the section, most useful first: the last conversation, open questions, earlier ones."""
    ordered = sorted(summaries, key=lambda one: one.until, reverse=True)
    last = next((one for one in ordered if one.level is Level.SESSION), None)
    if last is not None:
        turns = f", {last.turn_count} turns" if last.turn_count else ""
        yield f"## Last conversation ({_ago(last.until, now)}{turns}{_mood(last)})"
        yield from (_line(sentence) for sentence in last.discussed)
        if last.topics:
            yield _line(f"topics: {', '.join(list(last.topics)[:MOST_TOPICS])}")
    questions = open_questions(list(ordered))[:MOST_OPEN]
    if questions:
        yield "## Still open"
        yield from (_line(question) for question in questions)
    older = [one for one in ordered if one is not last and one.level in _LEVELS]
    profile = next((one for one in ordered if one.level is Level.PROFILE), None)
    if older or profile is not None:
        yield "## Earlier conversations"
    if profile is not None and profile.topics:
        about = ", ".join(list(profile.topics)[:6])
        yield _line(f"since {profile.since:%Y-%m}: {profile.session_count} conversations, mostly about {about}")
    yield from (_line(_brief(one)) for one in older if one.discussed or one.topics)


def _mood(summary: Summary) -> str:
    return "" if summary.sentiment is Sentiment.NEUTRAL else f", the user sounded {summary.sentiment}"


def _brief(summary: Summary) -> str:
    about = ", ".join(list(summary.topics)[:5])
    match summary.level:
        case Level.SESSION:
            # The first sentence says what it was about, the last one how it ended.
            sentences = dict.fromkeys((*summary.discussed[:1], *summary.discussed[-1:]))
            return f"{summary.until:%Y-%m-%d}: {' '.join(sentences) or about}"
        case _:
            name = "week" if summary.level is Level.WEEK else "month"
            return f"{name} {summary.id}, {summary.session_count} conversations: {about}"


def _line(text: str) -> str:
    return f"- {shortened(one_line(text), LONGEST_LINE)}"


def _ago(moment: datetime, now: datetime) -> str:
    days = (now.date() - moment.date()) // timedelta(days=1)
    when = "today" if days <= 0 else "yesterday" if days == 1 else f"{days} days ago"
    return f"{moment:%Y-%m-%d}, {when}"
