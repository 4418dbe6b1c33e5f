"""Running invocations of Strands agents, Swarms and Graphs."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from strands.types.content import Message

from agent_plugins.memory.prompt_block import PromptSection
from agent_plugins.memory.running_invocations import Running, current
from agent_plugins.memory.shared_sessions import AgentSession
from agent_plugins.strands.conversation import AgentConversation
from agent_plugins.strands.held_turns import HeldTurns
from mcp_memory_server import NewTurn

if TYPE_CHECKING:
    from weakref import ReferenceType


@dataclass(eq=False, kw_only=True)
class RunningHere(Running):
    """An invocation of an agent or a team that the plugin is attached to, and the turns that it saves."""

    session: AgentSession | None
    words: str = ""
    """The text of its input. What a team is asked, its agents are asked too: see `outermost`."""
    id: str = field(default_factory=lambda: uuid4().hex)
    own_turns: HeldTurns = field(init=False)

    def __post_init__(self) -> None:
        self.own_turns = HeldTurns(self._save)

    @property
    def outermost(self) -> "RunningHere":
        """The invocation that the user began. Its turns, and those of its members, are saved in one order."""
        return self.outer.outermost if self.answers_user and isinstance(self.outer, RunningHere) else self

    @property
    def turns(self) -> HeldTurns:
        """The turns of this conversation with the user."""
        return self.outermost.own_turns

    def _save(self, turn: NewTurn, operation_id: str) -> None:
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
    has_guardrail: bool = False
    earlier: PromptSection | None = None
    """What the messages of the agent lack of the conversation."""
    conversation: AgentConversation | None = None
    """The conversation that the messages of the agent are, if the user speaks to it."""
    begins: bool = False
    """Whether nothing was said before in this conversation."""
    is_fresh: bool = False
    """Whether the shared state was read since the invocation began, and not used yet."""
    is_asking_model: bool = False
    """Whether a call of the model is being prepared or made, with the prompt block in its input."""
    first_message: Message | None = None
    words_before: object = None
    """The content of the first message before a guardrail may have redacted it."""

    @property
    def is_prepared(self) -> bool:
        """Whether the invocation around this one has set the messages of the agent."""
        return self.outer is not None and self.agent() in self.outer.prepared

    def should_save(self, message: Message) -> bool:
        """Return whether a message is part of the conversation with the user, and not saved by others."""
        is_first = self.first_message is None
        if is_first:
            self.first_message, self.words_before = message, message["content"]
        return self.answers_user and (self.is_outermost or not is_first or message["role"] != "user")

    def redacted_task(self) -> Message | None:
        """Return the first message if it is that of a team and a guardrail has redacted it."""
        first = self.first_message
        if self.is_outermost or first is None or first["role"] != "user" or first["content"] is self.words_before:
            return None
        return first


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
