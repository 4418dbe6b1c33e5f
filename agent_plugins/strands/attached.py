"""What is remembered of each agent that the plugin is attached to, for as long as the agent lives."""

import asyncio
import copy
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from strands import Agent
from strands.agent.state import AgentState
from strands.types.content import Message, Messages

from agent_plugins.memory.agent_memory import Told
from agent_plugins.memory.agent_sessions import AgentSession
from mcp_memory_server import Scope


@dataclass
class Running:
    """One invocation of an agent. A node of a Swarm or a Graph was not spoken to by the user itself."""

    session: AgentSession | None
    is_node: bool
    earlier: Told | None = None
    id: str = field(default_factory=lambda: uuid4().hex)
    has_heard: bool = False
    saves: list[Future[bool]] = field(default_factory=list[Future[bool]])

    async def all_saved(self) -> None:
        """Wait until everything that was said is kept, or known not to be. Whoever stops waiting stops nothing."""
        for saving in self.saves:
            await asyncio.shield(asyncio.wrap_future(saving))

    def is_to_be_kept(self, message: Message) -> bool:
        """Tell whether the message is to be kept: what a node is told first only repeats what is kept already."""
        is_first, self.has_heard = not self.has_heard, True
        return not (self.is_node and is_first and message["role"] == "user")


@dataclass
class Attached:
    """An agent as it was when the plugin was attached, for whom it worked last, and what it does now."""

    messages: Messages
    state: dict[str, Any]
    last: Scope | None = None
    running: Running | None = None
    is_node: bool = False

    def turn_to(self, agent: Agent, scope: Scope) -> None:
        """Make the agent forget the conversation that it had with somebody else, or in another session."""
        if self.last is not None and self.last != scope:
            agent.messages = copy.deepcopy(self.messages)
            agent.state = AgentState(self.state)
        self.last = scope


class AttachedAgents:
    """All agents that a plugin is attached to. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._agents: WeakKeyDictionary[Agent, Attached] = WeakKeyDictionary()

    def add(self, agent: Agent) -> bool:
        """Remember the agent as it is now; tell whether it is new."""
        with self._lock:
            if agent in self._agents:
                return False
            self._agents[agent] = Attached(copy.deepcopy(agent.messages), agent.state.get())
            return True

    def knows(self, agent: Agent) -> bool:
        """Tell whether the plugin is attached to the agent."""
        with self._lock:
            return agent in self._agents

    def of(self, agent: Any) -> Attached:
        """Return what is remembered of an agent."""
        with self._lock:
            return self._agents[agent]
