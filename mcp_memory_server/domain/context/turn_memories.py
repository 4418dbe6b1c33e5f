"""Choose the lines about a user for one turn: what always matters, and what the user's words are about.

What always matters does not depend on the words, so it stays the same from turn to turn until a memory changes.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.domain.context.page_order import Beside, Urgency, entries_in_order
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.kernel.text import one_line, shortened_at_a_word
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot, confidence, is_past
from mcp_memory_server.domain.recall.ranked_memories import Overview

DEFAULT_TURN_TOKENS = 300
SHARE_OF_ALWAYS = 3
"""What always matters gets up to a third of the tokens of a turn."""
LONGEST_ALWAYS = 160
LONGEST_MATCH = 600
"""In characters of one memory. The rest of a longer one is left out."""
UNSURE_BELOW = 0.5
LINE_BREAK = 1
_MOST_LOOKED_AT = 60
_LEAST_TOKENS_OF_A_LINE = 4


@dataclass(frozen=True)
class TurnMemories:
    """Lines about the user, each without a line break.

    ``always`` is the same for every turn, ``matches`` is for this one. ``known`` is how many memories there
    are in all. ``handoff`` is a section on earlier conversations.
    """

    status: Status
    always: tuple[str, ...] = ()
    matches: tuple[str, ...] = ()
    handoff: str = ""
    known: int = 0
    missing: tuple[str, ...] = ()


def always_lines(
    snapshot: UserSnapshot, overview: Overview, now: datetime, beside: Sequence[Beside] = ()
) -> tuple[str, ...]:
    """Return preferences, dangers to health and names, the most important first."""
    entries = [
        entry
        for entry, _ in zip(
            entries_in_order(snapshot, overview, now, with_recent_changes=False, beside=beside),
            range(_MOST_LOOKED_AT),
            strict=False,
        )
        if entry.urgency >= Urgency.FIRST
    ]
    entries.sort(key=lambda entry: entry.urgency is not Urgency.CAN_HURT)  # stable: names come before preferences
    return tuple([line_of(entry.memory, now, LONGEST_ALWAYS) for entry in entries])


def line_of(memory: StoredMemory, now: datetime, longest: int = LONGEST_MATCH, owner: str | None = None) -> str:
    """Return the memory as one line. What no longer holds, and what is unsure, says so; so does another ``owner``."""
    text = shortened_at_a_word(one_line(memory.text), longest)
    details: list[str] = [] if owner is None else [one_line(owner)]
    if is_past(memory, now):
        details.append("no longer true")
    elif memory.kind in (Kind.FACT, Kind.CANDIDATE) and confidence(memory, now) < UNSURE_BELOW:
        details.append("unsure")
    return f"- {text} ({', '.join(details)})" if details else f"- {text}"


def fitting(lines: Iterable[str], count: Callable[[str], int], room: int) -> tuple[tuple[str, ...], int]:
    """Return the lines that fit into so many tokens, in their order, and what is left. A longer one makes no room."""
    chosen: list[str] = []
    for line in lines:
        if room < _LEAST_TOKENS_OF_A_LINE:
            break
        cost = count(line) + LINE_BREAK
        if cost <= room:
            chosen.append(line)
            room -= cost
    return tuple(chosen), room


def not_said(lines: Sequence[str], said: str) -> list[str]:
    """Return the lines whose text the conversation does not contain."""
    if not said:
        return list(lines)
    return [line for line in lines if plain(line.removeprefix("- ")) not in said]


def plain(text: str) -> str:
    """Return the text in the form in which lines are compared with what was said."""
    return " ".join(text.casefold().split())
