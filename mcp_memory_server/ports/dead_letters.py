"""Dead letters: acknowledged turns that the table would not take, kept until somebody sees to them."""

from collections.abc import Sequence
from typing import Protocol

from mcp_memory_server.domain.sessions.queued_turns import DeadLetter, HeldLetter


class DeadLetters(Protocol):
    """A durable heap of letters. They are looked at, taken in hand, and removed when the table has them after all.

    Any method may raise UnavailableError. A method never blocks the event loop, and may be awaited from any event loop.
    """

    async def add(self, letter: DeadLetter) -> None:
        """Keep a letter. It is durable when this returns. The same turn again may be kept twice: redriving tells."""
        ...

    async def take(self, *, most: int) -> Sequence[HeldLetter]:
        """Take some in hand, the oldest first as far as the store knows. Others do not get them for a while.

        Fewer than ``most`` does not mean that these are all; none at all does, as far as the store can tell.
        """
        ...

    async def let_go(self, receipts: Sequence[str]) -> None:
        """Put back what was taken: others may have it at once."""
        ...

    async def remove(self, receipts: Sequence[str]) -> None:
        """Delete letters that were taken in hand. Removing twice is harmless."""
        ...

    async def erase(self, user_id: str) -> int:
        """Remove every letter of a user that the store can find, and return how many that were."""
        ...

    async def count(self) -> int:
        """Return about how many there are, those in somebody's hands included."""
        ...

    async def close(self) -> None:
        """Let go of the store. Closing twice is harmless."""
        ...
