"""The section of a context page about the running conversation: a rolling summary and the newest turns."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from mcp_memory_server.domain.kernel.text import ever_shorter, one_line, shortened
from mcp_memory_server.domain.recall.replies.answers import Count
from mcp_memory_server.domain.sessions.turns import Turn

LONGEST_TURN = 600
"""Characters of a turn that are shown. An agent that needs all of a long turn loads the session itself."""
LINE_BREAK = 1
"""Tokens between two lines."""

_HEADING = "## This conversation"


@dataclass(frozen=True)
class RunningSession:
    """The running conversation: its cached turns, oldest first, of ``turn_count`` in all, and its rolling summary."""

    turns: Sequence[Turn] = ()
    turn_count: int = 0
    summary: str | None = None
    missing: tuple[str, ...] = ()


def session_section(session: RunningSession | None, count: Count, room: int) -> str:
    """Return the section with the newest turns that fit, in the order of time; "" if there is no session or no turn."""
    if session is None:
        return ""
    lines: list[str] = []
    if session.summary:
        # The turns are more important: the summary of what came before them has a third of the room.
        fitting = (text for text in ever_shorter(one_line(session.summary)) if count(text) <= room // 3)
        lines += [f"- earlier: {text}" for text in islice(fitting, 1)]
    heading = f"{_HEADING} ({session.turn_count} turns so far)"
    room -= count("\n".join([heading, *lines]))
    newest_first: list[str] = []
    for turn in reversed(session.turns):
        speaker = one_line(turn.speaker) if turn.speaker else turn.role.value
        line = f"- {speaker}: {shortened(one_line(turn.content), LONGEST_TURN)}"
        if (room := room - count(line) - LINE_BREAK) < 0:
            break
        newest_first.append(line)
    return "\n".join([heading, *lines, *reversed(newest_first)]) if newest_first else ""
