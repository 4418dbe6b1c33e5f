"""Sessions: how long a running conversation is kept at hand, and which turns make way when it grows too long."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

TOKEN_BUDGET = 4096
MAX_TURNS = 20
SETTLING = timedelta(seconds=1)
"""A turn that was put into a copy is in the table after half as long, or its writer says otherwise."""
REMEMBERED_OPERATIONS = 200
"""How many of its last operations a cached session recognises when they are repeated."""
FULL_REPLIES_KEPT = 8
"""For how many of these operations it also keeps which turns they evicted, so that a repeat gets the same reply."""
MAX_RECORDED_TURNS = 1000
"""How many turns are recorded in a session that nobody fills from the table; with one more it starts again."""


class Tier(StrEnum):
    """How much a session is worth: it lives longer."""

    STANDARD = "standard"
    PREMIUM = "premium"
    VIP = "vip"


@dataclass(frozen=True)
class Life:
    """How long a session lives after its last turn: longer from some depth on."""

    at_first: timedelta
    later: timedelta
    from_turns: int


LIVES = {
    Tier.STANDARD: Life(timedelta(minutes=30), timedelta(minutes=45), from_turns=10),
    Tier.PREMIUM: Life(timedelta(minutes=45), timedelta(minutes=60), from_turns=8),
    Tier.VIP: Life(timedelta(minutes=60), timedelta(minutes=120), from_turns=5),
}


STATE_LIFE = max(life.later for life in LIVES.values())
"""How long a shared state lives: as long as the longest session, because a write to it does not name a tier."""


@dataclass(frozen=True)
class Limits:
    """How much of a session is kept at hand."""

    tokens: int = TOKEN_BUDGET
    turns: int = MAX_TURNS


@dataclass(frozen=True)
class Weight:
    """What trimming needs to know of a turn."""

    tokens: int
    importance: float


def lifetime(tier: Tier, turns: int) -> timedelta:
    """Return how long a session with so many turns lives from now."""
    life = LIVES[tier]
    return life.later if turns >= life.from_turns else life.at_first


def trimmed(turns: Sequence[Weight], limits: Limits) -> list[int]:
    """Return which turns make way, by their places: the least important first, the oldest first among equals.

    The first turn and the last one stay, whatever they weigh.
    """
    order = sorted(range(1, len(turns) - 1), key=lambda place: (turns[place].importance, place))
    tokens, count = sum(turn.tokens for turn in turns), len(turns)
    gone: list[int] = []
    for place in order:
        if tokens <= limits.tokens and count <= limits.turns:
            break
        gone.append(place)
        tokens -= turns[place].tokens
        count -= 1
    return sorted(gone)
