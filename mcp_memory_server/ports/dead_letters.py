"""Dead letters: acknowledged turns that the table refused, kept until an operator redrives them."""

from collections.abc import Sequence
from typing import Protocol

from mcp_memory_server.domain.sessions.queued_turns import DeadLetter, HeldLetter


class DeadLetters(Protocol):
    """A durable queue of dead letters. A redrive receives them, writes them to the table, and removes them.

    Any method may raise UnavailableError. A method never blocks the event loop, and may be awaited from any event loop.
    """

    async def add(self, letter: DeadLetter) -> None:
        """Store a letter. It is durable when this returns. The same turn may be stored twice; a redrive recognises
        that.
        """
        ...

    async def take(self, *, most: int) -> Sequence[HeldLetter]:
        """Receive some letters, roughly oldest first. Others do not receive them for a while.

        Fewer than ``most`` does not mean that these are all. An empty result means that the store knows of no more.
        """
        ...

    async def let_go(self, receipts: Sequence[str]) -> None:
        """Return received letters to the queue, where others may receive them at once."""
        ...

    async def remove(self, receipts: Sequence[str]) -> None:
        """Delete received letters. Removing twice is harmless."""
        ...

    async def erase(self, user_id: str) -> int:
        """Remove every letter of a user that the store can find, and return their number."""
        ...

    async def count(self) -> int:
        """Return approximately how many there are, received ones included."""
        ...

    async def close(self) -> None:
        """Release the store. Closing twice is harmless."""
        ...
