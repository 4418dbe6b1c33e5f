"""Cursors of recall and of context pages: how many memories were returned, and the last one."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory_server.errors import InvalidRequestError

LONGEST_CURSOR = "000.t-zzzzzzzzzzzz"


@dataclass(frozen=True)
class Position:
    """Where earlier replies to the same question ended."""

    returned: int = 0
    last: str | None = None

    def start(self, ids: Sequence[str]) -> int:
        """Return the index to continue from: after the last returned memory or, if it is gone, at its position."""
        return ids.index(self.last) + 1 if self.last in ids else min(self.returned, len(ids))

    def cursor_after(self, returned: int, last: str) -> str:
        """Return the cursor that continues after this many more memories, the last one named."""
        return f"{self.returned + returned}.{last}"


BEGINNING = Position()


def position_from(cursor: str | None, tool: str = "recall") -> Position:
    """Parse a cursor; None is the beginning.

    Raises:
        InvalidRequestError: It is not a valid cursor.
    """
    if cursor is None:
        return Position()
    returned, _, last = cursor.partition(".")
    if not (returned.isascii() and returned.isdigit() and last and len(returned) < 6):
        raise InvalidRequestError(f"the cursor is not one of {tool}'s; take it from an earlier answer, or leave it out")
    return Position(int(returned), last)
