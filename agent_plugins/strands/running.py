"""Running invocations of Strands agents, Swarms and Graphs."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from agent_plugins.memory.agent_sessions import AgentSession
from agent_plugins.memory.prompt_block import PromptSection
from agent_plugins.memory.running import Running, current
from mcp_memory_server import NewTurn

if TYPE_CHECKING:
    from weakref import ReferenceType


@dataclass(eq=False, kw_only=True)
class RunningHere(Running):
    """An invocation of an agent or a team that the plugin is attached to, and the turns that it saves."""

    session: AgentSession | None
    words: str = ""
    """The text of its input."""
    id: str = field(default_factory=lambda: uuid4().hex)

    def save(self, turn: NewTurn, operation_id: str) -> None:
        """Queue a turn, after those that were queued before. The model does not wait for it to be saved."""
        if self.session is not None:
            self.session.memory.turns.add(self.session.scope, turn, operation_id)

    def words_of_user(self) -> str:
        """Return the words that are to be answered: of an agent in a team, those that the user said to the team."""
        if self.answers_user and isinstance(self.outer, RunningHere):
            return self.outer.words_of_user()
        return self.words

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
    is_asking_model: bool = False
    """Whether a call of the model is being prepared or made, with the prompt block in its input."""

    def should_save(self, role: str) -> bool:
        """Return whether a message is part of the conversation with the user, and not saved by others."""
        is_first, self.has_first_message = not self.has_first_message, True
        return self.answers_user and (self.is_outermost or not is_first or role != "user")


def running(agent: object) -> RunningAgent | None:
    """Return the invocation of this agent that is current here, None outside of any."""
    now = current()
    return now if isinstance(now, RunningAgent) and now.agent() is agent else None


def is_in_prompt_already(user_id: str) -> bool:
    """Return whether a call of the model is being prepared here with a prompt block about this user."""
    now = current()
    return (
        isinstance(now, RunningAgent) and now.is_asking_model and now.scope is not None and now.scope.user_id == user_id
    )
