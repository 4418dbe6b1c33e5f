"""Running invocations of Strands agents, Swarms and Graphs."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from agent_plugins.memory.agent_memory import PromptSection
from agent_plugins.memory.agent_sessions import AgentSession
from agent_plugins.memory.running import Running, current
from mcp_memory_server import NewTurn

if TYPE_CHECKING:
    from weakref import ReferenceType


@dataclass(eq=False, kw_only=True)
class RunningHere(Running):
    """An invocation of an agent or a team that the plugin is attached to, and the turns that it saves."""

    session: AgentSession | None
    id: str = field(default_factory=lambda: uuid4().hex)

    def save(self, turn: NewTurn, operation_id: str) -> None:
        """Queue a turn, after those that were queued before. The model does not wait for it to be saved."""
        if self.session is not None:
            self.session.memory.turns.add(self.session.scope, turn, operation_id)

    async def wait_until_saved(self) -> None:
        """Wait until each turn was saved or failed to be. Cancelling this does not stop that."""
        if self.session is not None:
            await self.session.memory.turns.flush(self.session.scope)


@dataclass(eq=False, kw_only=True)
class RunningAgent(RunningHere):
    """An invocation of an agent. In a Swarm or a Graph, its input repeats turns that are saved already."""

    agent: "ReferenceType[Any]"  # weak: a context that refers to this invocation may outlive the agent
    earlier: PromptSection | None = None
    has_first_message: bool = False

    def should_save(self, role: str) -> bool:
        """Return whether a message is part of the conversation with the user, and not saved by others."""
        is_first, self.has_first_message = not self.has_first_message, True
        return self.answers_user and (self.is_outermost or not is_first or role != "user")


def running(agent: object) -> RunningAgent | None:
    """Return the invocation of this agent that is current here, None outside of any."""
    now = current()
    return now if isinstance(now, RunningAgent) and now.agent() is agent else None
