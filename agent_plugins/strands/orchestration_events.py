"""Invocations of a Swarm or a Graph of Strands: their session, their task, and their agents."""

import asyncio
import functools
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from strands import Agent
from strands.hooks import BeforeNodeCallEvent, MultiAgentInitializedEvent
from strands.multiagent.base import MultiAgentBase
from strands.types.exceptions import ConcurrencyException

from agent_plugins.memory.running_invocations import current, enclosing
from agent_plugins.strands.guarding.hanging_tools import run_tools_in_daemon_threads
from agent_plugins.strands.held_turns import has_guardrail
from agent_plugins.strands.identity import SessionResolver
from agent_plugins.strands.orchestrators import agents_of, forget_shared_context, is_resuming, nested_in, task_turn
from agent_plugins.strands.running_agents import RunningHere
from mcp_memory_server import MemoryServerError, NewTurn, Scope

BUSY = (
    "this {kind} is answering already. It keeps the task and the results of one invocation at a time: "
    "make a {kind} for each invocation, for example with a function that returns one"
)
WAITS = "this {kind} waits for the answer of another user to an interrupt; resume it for that user first"

logger = logging.getLogger(__name__)


class OrchestrationEvents:
    """Lets an orchestrator answer one user at a time, saves the task, and sets which agent is in charge.

    A Swarm or a Graph has its task and its results in attributes, which a second invocation overwrites before any hook
    is called. So its ``stream_async`` is replaced by one that refuses the second invocation first.
    """

    def __init__(self, sessions: SessionResolver, attach: Callable[[Agent], None], task_seconds: float | None) -> None:
        self._sessions = sessions
        self._attach = attach
        self._task_seconds = task_seconds
        self._lock = Lock()
        self._last: WeakKeyDictionary[MultiAgentBase, Scope | None] = WeakKeyDictionary()
        self._busy: WeakKeyDictionary[MultiAgentBase, bool] = WeakKeyDictionary()

    def watch(self, orchestrator: MultiAgentBase) -> None:
        """Watch the invocations of an orchestrator."""
        self._guard(orchestrator)
        orchestrator.add_hook(self.made, MultiAgentInitializedEvent)
        orchestrator.add_hook(self.node_begins, BeforeNodeCallEvent)

    def made(self, event: MultiAgentInitializedEvent) -> None:
        """Attach to the agents, which exist only now."""
        for agent in agents_of(event.source):
            self._attach(agent)
        for nested in nested_in(event.source):
            self._guard(nested)

    async def node_begins(self, event: BeforeNodeCallEvent) -> None:
        """Set which agent is in charge."""
        now = current()
        if isinstance(now, RunningHere) and now.session is not None:
            await now.session.agent_takes_over(event.node_id)

    def _guard(self, orchestrator: MultiAgentBase) -> None:
        with self._lock:
            if orchestrator in self._busy:
                return
            self._busy[orchestrator] = False
        invoke = orchestrator.stream_async

        @functools.wraps(invoke)
        async def stream_async(
            task: Any, invocation_state: dict[str, Any] | None = None, **more: Any
        ) -> AsyncIterator[dict[str, Any]]:
            now = self._running(orchestrator, invocation_state or {})
            self._enter(orchestrator, now.scope)
            try:
                await self._begin(now, orchestrator, task)
                async for event in now.steps(invoke(task, invocation_state, **more)):
                    yield event
            finally:
                now.is_over = True
                with self._lock:
                    self._busy[orchestrator] = False
                now.own_turns.release_all()
                await _end(now)

        setattr(orchestrator, "stream_async", stream_async)  # noqa: B010 - a type checker refuses the assignment

    def _enter(self, orchestrator: MultiAgentBase, scope: Scope | None) -> None:
        kind = type(orchestrator).__name__
        with self._lock:
            if self._busy[orchestrator]:
                raise ConcurrencyException(BUSY.format(kind=kind))
            if is_resuming(orchestrator) and self._last.get(orchestrator, scope) != scope:
                raise ConcurrencyException(WAITS.format(kind=kind))
            self._busy[orchestrator], self._last[orchestrator] = True, scope

    def _running(self, orchestrator: MultiAgentBase, invocation_state: Mapping[str, Any]) -> RunningHere:
        session = self._sessions.find(invocation_state)
        scope = None if session is None else session.scope
        outer = enclosing(scope)
        return RunningHere(
            scope=scope,
            outer=outer,
            answers_user=outer is None or outer.lets_answer(orchestrator),
            members=WeakSet([*agents_of(orchestrator), *nested_in(orchestrator)]),
            session=session,
        )

    async def _begin(self, now: RunningHere, orchestrator: MultiAgentBase, task: Any) -> None:
        """Clear what the previous invocation left, and save the task, before any agent can answer it."""
        run_tools_in_daemon_threads()
        is_new = not is_resuming(orchestrator)
        forget_shared_context(orchestrator)
        if now.session is None or not now.is_outermost:
            return
        turn = _task(task) if is_new else None
        if turn is not None:
            now.words = turn.content
            guarded = any(has_guardrail(agent.model) for agent in agents_of(orchestrator))
            now.turns.add(lambda: turn, now.id, until=now if guarded else None)
        if is_new:
            goal = turn.content[:200] if turn else "answer the user"
            await now.session.turn_begins(goal, seconds=self._task_seconds)


async def _end(now: RunningHere) -> None:
    """Count the turn, and wait until the task is saved."""
    if now.session is not None and now.is_outermost:
        await asyncio.gather(now.wait_until_saved(), now.session.turn_ended(now.id))
        now.session.learn(now.own_turns.saved)


def _task(task: Any) -> NewTurn | None:
    try:
        return task_turn(task)
    except MemoryServerError as error:
        logger.warning("a message cannot be saved: %s", error)
        return None
