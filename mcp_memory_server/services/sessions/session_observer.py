"""Port of conversations to whatever follows up on sessions: summaries, for one."""

from datetime import datetime
from typing import Protocol

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.summaries.agent_summaries import AgentSummary
from mcp_memory_server.services.sessions.session_reader import LoadedSession


class SessionObserver(Protocol):
    """Is notified of what happens in sessions. Used from any thread and any event loop."""

    async def appended(self, scope: Scope, tier: Tier, *, trims: bool) -> None:
        """Note that a turn was added; ``trims`` says that the session cache dropped others for it.

        Once this returns, the session will be finished although this process dies: the session cache lists it, or
        else the table does. If neither answers, that is done later. Raises nothing.
        """
        ...

    async def ended(
        self, scope: Scope, session: LoadedSession, ended_at: datetime, summary: AgentSummary | None = None
    ) -> None:
        """Note that the caller has ended a session, with the agent's own summary of it if there is one.

        Once this returns, the next conversation of the user can refer to this one.

        Raises:
            UnavailableError: The end, or what the agent wrote, could not be stored.
        """
        ...

    def active_sessions(self) -> list[Scope]:
        """Return the sessions that this process has added turns to and that were not ended since."""
        ...
