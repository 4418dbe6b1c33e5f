"""What the plugin stores about each agent that it is attached to, as long as the agent lives."""

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

from agent_plugins.memory.agent_memory import PromptSection
from agent_plugins.memory.agent_sessions import AgentSession
from mcp_memory_server import Scope


@dataclass
class Running:
    """One invocation of an agent. The input of a node of a Swarm or a Graph is not a message of the user."""

    session: AgentSession | None
    is_node: bool
    earlier: PromptSection | None = None
    id: str = field(default_factory=lambda: uuid4().hex)
    has_first_message: bool = False
    saves: list[Future[bool]] = field(default_factory=list[Future[bool]])

    async def wait_until_saved(self) -> None:
        """Wait until each message was saved or failed to be. Cancelling this does not stop the saves."""
        for saving in self.saves:
            await asyncio.shield(asyncio.wrap_future(saving))

    def should_save(self, message: Message) -> bool:
        """Return whether to save the message: the input of a node only repeats messages that are saved already."""
        is_first, self.has_first_message = not self.has_first_message, True
        return not (self.is_node and is_first and message["role"] == "user")


@dataclass
class Attached:
    """The messages and state of an agent when the plugin was attached, its last scope, and its running invocation."""

    messages: Messages
    state: dict[str, Any]
    last: Scope | None = None
    running: Running | None = None
    is_node: bool = False

    def switch_to(self, agent: Agent, scope: Scope) -> None:
        """Reset the agent to how it was when attached, if the last scope was another user or session."""
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
        """Store the agent as it is now; return whether it is new."""
        with self._lock:
            if agent in self._agents:
                return False
            self._agents[agent] = Attached(copy.deepcopy(agent.messages), agent.state.get())
            return True

    def knows(self, agent: Agent) -> bool:
        """Return whether the plugin is attached to the agent."""
        with self._lock:
            return agent in self._agents

    def of(self, agent: Any) -> Attached:
        """Return what is stored about an agent."""
        with self._lock:
            return self._agents[agent]
