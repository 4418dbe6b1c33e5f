"""Events of a Swarm or a Graph of Strands, forwarded to its session and its agents."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from strands import Agent
from strands.hooks import (
    AfterMultiAgentInvocationEvent,
    BeforeMultiAgentInvocationEvent,
    BeforeNodeCallEvent,
    MultiAgentInitializedEvent,
)
from strands.multiagent.base import MultiAgentBase

from agent_plugins.memory.agent_sessions import AgentSession
from agent_plugins.strands.attached import AttachedAgents
from agent_plugins.strands.hanging_tools import run_tools_in_daemon_threads
from agent_plugins.strands.identity import SessionResolver
from agent_plugins.strands.orchestrators import agents_of, forget_shared_context, is_resuming, nested_in, task_of
from mcp_memory_server import MemoryServerError

logger = logging.getLogger(__name__)


@dataclass
class _Orchestration:
    """One invocation of an orchestrator. Its task is known when the first node begins."""

    is_task_saved: bool
    id: str = field(default_factory=lambda: uuid4().hex)


class OrchestrationEvents:
    """Saves the task, sets which agent is in charge, and clears what one invocation could leave for the next."""

    def __init__(
        self,
        sessions: SessionResolver,
        agents: AttachedAgents,
        attach: Callable[[Agent], None],
        task_seconds: float | None,
    ) -> None:
        self._sessions = sessions
        self._agents = agents
        self._attach = attach
        self._task_seconds = task_seconds
        self._running: WeakKeyDictionary[MultiAgentBase, _Orchestration] = WeakKeyDictionary()

    def watch(self, orchestrator: MultiAgentBase) -> None:
        """Register the handlers on an orchestrator."""
        orchestrator.add_hook(self.made, MultiAgentInitializedEvent)
        orchestrator.add_hook(self.begins, BeforeMultiAgentInvocationEvent)
        orchestrator.add_hook(self.node_begins, BeforeNodeCallEvent)
        orchestrator.add_hook(self.ended, AfterMultiAgentInvocationEvent)

    def made(self, event: MultiAgentInitializedEvent) -> None:
        """Attach to the agents, which exist only now."""
        for agent in agents_of(event.source):
            self._attach(agent)
        for nested in nested_in(event.source):
            nested.add_hook(self._nested_begins, BeforeMultiAgentInvocationEvent)

    def begins(self, event: BeforeMultiAgentInvocationEvent) -> None:
        """Clear what the previous invocation left."""
        run_tools_in_daemon_threads()
        self._running[event.source] = _Orchestration(is_resuming(event.source))
        self._nested_begins(event)
        for agent in agents_of(event.source):
            self._agents.of(agent).is_node = True

    async def node_begins(self, event: BeforeNodeCallEvent) -> None:
        """Save the task before the first node, and set which agent is in charge."""
        session = self._session(event.invocation_state)
        if session is None:
            return
        running = self._running.get(event.source)
        if running is not None and not running.is_task_saved:
            running.is_task_saved = True
            await self._save_task(session, event.source, running.id)
        await session.agent_takes_over(event.node_id)

    async def ended(self, event: AfterMultiAgentInvocationEvent) -> None:
        """Count the turn."""
        for agent in agents_of(event.source):
            self._agents.of(agent).is_node = False
        running, session = self._running.pop(event.source, None), self._session(event.invocation_state)
        if running is not None and session is not None:
            await session.turn_ended(running.id)

    async def _save_task(self, session: AgentSession, orchestrator: MultiAgentBase, operation_id: str) -> None:
        try:
            turn = task_of(orchestrator)
        except MemoryServerError as error:
            logger.warning("a message cannot be saved: %s", error)
            turn = None
        await session.turn_begins(turn.content[:200] if turn else "answer the user", seconds=self._task_seconds)
        if turn is not None:
            await session.memory.turns.append(session.scope, turn, operation_id)

    def _session(self, invocation_state: Mapping[str, Any] | None) -> AgentSession | None:
        return self._sessions.find(invocation_state or {})

    def _nested_begins(self, event: BeforeMultiAgentInvocationEvent) -> None:
        forget_shared_context(event.source)
