"""The agents that the plugin is attached to: how each was then, and to whom the messages in it belong now."""

from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from strands import Agent
from strands.types.exceptions import ConcurrencyException

from agent_plugins.strands.conversation import AgentConversation
from mcp_memory_server import Scope

if TYPE_CHECKING:
    from strands.types._snapshot import Snapshot

BUSY = (
    "this agent is answering somebody else. Its messages belong to one conversation at a time: "
    "make an agent for each user who may speak at the same moment, for example with a function that returns one"
)
WAITS = (
    "this agent waits for the answer of another user to an interrupt; "
    "resume it for that user first, or make an agent for each user"
)


class Attached:
    """An agent's initial state, and the conversation that its messages belong to. Safe to use from any thread.

    The messages of an agent are a part of the agent, so they can belong to one conversation only: they are reset when
    an invocation for another one begins, and it is refused while the agent is still answering in the first.
    """

    def __init__(self, agent: Agent) -> None:
        self._initial: Snapshot = agent.take_snapshot(preset="session")
        self._first = len(agent.messages)
        self.conversation = AgentConversation(self._first)
        self._lock = Lock()
        self._used_by: Scope | None = None
        self._was_used = False
        self._running = 0

    def enter(self, agent: Agent, scope: Scope | None, *, keep_messages: bool = False) -> bool:
        """Begin an invocation, and return whether the agent was reset for it. None stands for a nameless user.

        Messages that the caller has just set for this invocation are kept.

        Raises:
            ConcurrencyException: The agent is used in another conversation.
        """
        with self._lock:
            is_new = self._was_used and self._used_by != scope
            if is_new and self._running:
                raise ConcurrencyException(BUSY)
            if is_new and is_interrupted(agent):
                raise ConcurrencyException(WAITS)
            if is_new:
                self.conversation = AgentConversation(self._first)
                messages = agent.messages
                agent.load_snapshot(self._initial)
                agent.messages = messages if keep_messages else agent.messages
            self._was_used, self._used_by, self._running = True, scope, self._running + 1
            return is_new

    def leave(self) -> None:
        """End an invocation."""
        with self._lock:
            self._running -= 1


class AttachedAgents:
    """All agents that a plugin is attached to. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._agents: WeakKeyDictionary[Agent, Attached] = WeakKeyDictionary()

    def add(self, agent: Agent) -> bool:
        """Store the agent as it is now; return whether it is new."""
        with self._lock:
            if agent in self._agents:
                return False
            self._agents[agent] = Attached(agent)
            return True

    def knows(self, agent: Agent) -> bool:
        """Return whether the plugin is attached to the agent."""
        with self._lock:
            return agent in self._agents

    def of(self, agent: Any) -> Attached:
        """Return what is stored about an agent."""
        with self._lock:
            return self._agents[agent]


def is_interrupted(agent_or_team: object) -> bool:
    """Return whether the next invocation resumes one that was interrupted."""
    interrupts = getattr(agent_or_team, "_interrupt_state", None)  # Strands has no public name for it
    return bool(getattr(interrupts, "activated", False))
