"""The channel that announces changes of shared states, for tables that announce none themselves."""

from collections.abc import AsyncIterator
from typing import Protocol

from mcp_memory_server.domain.kernel.scope import Scope


class StateChannel(Protocol):
    """Messages that say that the state of a session may have changed. They carry nothing else, and may be lost.

    Every scope names a session.
    """

    async def announce(self, scope: Scope) -> None:
        """Wake everybody who listens for this session. Without a channel that answers this does nothing."""
        ...

    def listen(self, scope: Scope) -> AsyncIterator[None]:
        """Yield once at the beginning, and whenever the state may have changed since, from now on.

        What was lost is made up for: it also yields when the channel was interrupted, every second while it is, and
        now and then without a reason.
        """
        ...
