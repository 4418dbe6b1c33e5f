"""Where an answer to a question ended, so that the next one can go on from there."""

from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory_server.errors import InvalidRequestError

LONGEST_CURSOR = "000.t-zzzzzzzzzzzz"


@dataclass(frozen=True)
class Place:
    """So many memories were told, this one last."""

    told: int = 0
    last: str | None = None

    def start(self, ids: Sequence[str]) -> int:
        """Return where to go on among the ranked: after the one told last, or, if it is gone, where it was."""
        return ids.index(self.last) + 1 if self.last in ids else min(self.told, len(ids))

    def cursor_after(self, told: int, last: str) -> str:
        """Return the cursor that leads on after so many more, this one last."""
        return f"{self.told + told}.{last}"


BEGINNING = Place()


def place_from(cursor: str | None, tool: str = "recall") -> Place:
    """Read a cursor; without one, the beginning.

    Raises:
        InvalidRequestError: It is none.
    """
    if cursor is None:
        return Place()
    told, _, last = cursor.partition(".")
    if not (told.isascii() and told.isdigit() and last and len(told) < 6):
        raise InvalidRequestError(f"the cursor is not one of {tool}'s; take it from an earlier answer, or leave it out")
    return Place(int(told), last)
