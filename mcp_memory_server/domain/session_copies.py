"""What a session memory tells about a session."""

from dataclasses import dataclass
from typing import Any

from mcp_memory_server.domain.turns import Turn


@dataclass(frozen=True)
class Appended:
    """What appending did. ``turn_id`` is the id that the turn got; ``trimmed`` made way for it."""

    turn_id: str
    count: int
    tokens: int
    repeated: bool = False
    trimmed: tuple[Turn, ...] = ()


@dataclass(frozen=True)
class SessionCopy:
    """The turns at hand, oldest first, how many there have been in all, and how many tokens these have."""

    turns: tuple[Turn, ...]
    count: int
    tokens: int


@dataclass(frozen=True)
class SharedState:
    """What the agents of a session share, and how often it was written."""

    value: Any
    version: int
