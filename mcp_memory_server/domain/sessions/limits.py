"""Limits of running sessions: how long they are cached, and which turns are evicted when they grow too long."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

TOKEN_BUDGET = 4096
MAX_TURNS = 20
SETTLING = timedelta(seconds=1)
"""A turn that was cached is in the table after half of this time, or its writer calls `record_stored`."""
REMEMBERED_OPERATIONS = 200
"""How many of its last operations a cached session recognises when they are repeated."""
FULL_REPLIES_KEPT = 8
"""For how many of these operations it also keeps which turns they evicted, so that a repeat gets the same reply."""
MAX_RECORDED_TURNS = 1000
"""How many turns are recorded in a session that nobody fills from the table; with one more it starts again."""


class Tier(StrEnum):
    """The tier of a session: a higher one lives longer."""

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
    """How much of a session is cached."""

    tokens: int = TOKEN_BUDGET
    turns: int = MAX_TURNS


@dataclass(frozen=True)
class Weight:
    """The part of a turn that trimming needs."""

    tokens: int
    importance: float


def lifetime(tier: Tier, turns: int) -> timedelta:
    """Return how long a session with so many turns lives from now."""
    life = LIVES[tier]
    return life.later if turns >= life.from_turns else life.at_first


def trimmed(turns: Sequence[Weight], limits: Limits) -> list[int]:
    """Return the positions of the turns to evict: the least important first, the oldest first among equals.

    The first turn and the last one stay, whatever they weigh.
    """
    order = sorted(range(1, len(turns) - 1), key=lambda place: (turns[place].importance, place))
    tokens, count = sum(turn.tokens for turn in turns), len(turns)
    evicted: list[int] = []
    for place in order:
        if tokens <= limits.tokens and count <= limits.turns:
            break
        evicted.append(place)
        tokens -= turns[place].tokens
        count -= 1
    return sorted(evicted)
