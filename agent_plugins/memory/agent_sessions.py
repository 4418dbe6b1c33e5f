"""Sessions as agents see them: one memory, one shared state and one pair of watchful eyes for all agents of each."""

import logging
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import wait
from dataclasses import dataclass
from threading import Lock
from typing import Any

from agent_plugins.guards.agent_locks import AgentLocks
from agent_plugins.guards.guards import GuardRules, Guards
from agent_plugins.memory.agent_memory import AgentMemory, Told
from agent_plugins.memory.prompt_block import injected, tokens_of_escapes
from agent_plugins.state.background_loop import BACKGROUND
from agent_plugins.state.changes import (
    ask_user,
    begin_task,
    end_task,
    fail_step,
    finish_step,
    hand_over,
    start_step,
    take_turn,
    understand,
    user_answered,
)
from agent_plugins.state.session_state import Change
from agent_plugins.state.state_coordinator import StateCoordinator
from agent_plugins.state.token_budget import LEAST_FOR_MEMORY, split_budget
from mcp_memory_server import InvalidRequestError, MemoryServerError, Scope, Status, ToolStatus, count_tokens

MAX_TOKENS = 800
EARLIER_SHARE = 3
"""What was said earlier has up to a third of the budget; what is left, the shared state and the memory share."""
LEAST_TOKENS = 150
FENCE_TOKENS = 40
LONGEST_RESULT = 200
CLOSE_SECONDS = 10.0
MOST_SESSIONS = 1000

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class AgentSession:
    """One session, shared by all its agents."""

    scope: Scope
    memory: AgentMemory
    coordinator: StateCoordinator
    guards: Guards
    locks: AgentLocks
    max_tokens: int = MAX_TOKENS

    async def earlier(self) -> Told:
        """Return what was said in the session before, for an agent that has no history of its own."""
        return await self.memory.earlier(self.scope, self.max_tokens // EARLIER_SHARE)

    async def context(self, agent: str, earlier: Told | None = None) -> str:
        """Return what a model is told beside the conversation, all of it within one budget."""
        await self.coordinator.refresh()
        said = "" if earlier is None else earlier.text
        spent = FENCE_TOKENS + count_tokens(said) + tokens_of_escapes(said)
        text, left = split_budget(self.coordinator, max(LEAST_FOR_MEMORY, self.max_tokens - spent), agent=agent)
        known = await self.memory.known(self.scope, left)
        if more := tokens_of_escapes(known.text):
            known = await self.memory.known(self.scope, left - more)
        status = self.coordinator.status
        missing = ("what the agents of this session share",) if status is Status.UNAVAILABLE else ()
        self.guards.time_checked(remaining=self.coordinator.remaining())  # counted here, told by the state
        findings = [finding.message for finding in self.guards.locks_held_too_long()]
        return injected(known, earlier, Told(status, text, missing), findings, self.memory.turns.unsaved(self.scope))

    async def tool_begins(self, call: str, tool: str, inputs: Mapping[str, Any], agent: str) -> None:
        """Note a call of a tool as a step of the task that is under way, if one is."""
        if self.coordinator.state.task is not None:
            await self._note(start_step(call, tool, inputs, agent=agent))

    async def tool_ended(
        self, call: str, tool: str, inputs: Mapping[str, Any], output: str, seconds: float, status: ToolStatus
    ) -> None:
        """Log a call of a tool, and end its step."""
        await self.memory.log_tool(self.scope, tool, inputs, output, seconds, status)
        if self.coordinator.state.task is not None:
            if status is ToolStatus.OK:
                await self._note(finish_step(call, output[:LONGEST_RESULT], duration=seconds))
            else:
                await self._note(fail_step(call, output or status.value, duration=seconds))

    async def turn_begins(self, goal: str, *, seconds: float | None = None) -> None:
        """Note that the user spoke, and begin a task if there is so much time for it."""
        self.guards.user_spoke()
        if seconds is not None:
            await self._note(begin_task(goal, budget=seconds))

    async def turn_ended(self, operation_id: str | None = None) -> None:
        """Count a turn, and end its task."""
        await self._note(take_turn(), end_task(), operation_id=operation_id)

    async def agent_takes_over(self, agent: str, *, intent: str | None = None) -> None:
        """Note who is in charge, and what the user wants if that was found out."""
        await self._note(hand_over(agent), *([] if intent is None else [understand(intent), user_answered()]))

    async def asks_user(self, question: str) -> None:
        """Note that the user has to say more before anybody can be in charge."""
        await self._note(ask_user(question))

    async def _note(self, *changes: Change, operation_id: str | None = None) -> None:
        try:
            await self.coordinator.change(*changes, operation_id=operation_id)
        except MemoryServerError as error:  # somebody else ended the task meanwhile, say: agents go on
            logger.info("the shared state was not changed: %s", error)
        except Exception as error:  # noqa: BLE001 - the edge: what is noted about a turn must not end it
            logger.warning("the shared state was not changed: %s", type(error).__name__)


class AgentSessions:
    """The sessions that agents of this process work in. Those used least recently are let go of."""

    def __init__(
        self, memory: AgentMemory, *, max_tokens: int = MAX_TOKENS, guard_rules: GuardRules | None = None
    ) -> None:
        if max_tokens < LEAST_TOKENS:
            raise InvalidRequestError(f"max_tokens must be at least {LEAST_TOKENS}, got {max_tokens}")
        self.memory = memory
        self._max_tokens = max_tokens
        self._guard_rules = guard_rules
        self._lock = Lock()
        self._sessions: OrderedDict[Scope, AgentSession] = OrderedDict()

    def of(self, scope: Scope) -> AgentSession:
        """Return the session; the same one for all agents that ask."""
        with self._lock:
            session = self._sessions.get(scope)
            if session is None:
                coordinator, guards = StateCoordinator(self.memory.shared.get, scope), Guards(self._guard_rules)
                session = AgentSession(
                    scope, self.memory, coordinator, guards, AgentLocks(guards), max_tokens=self._max_tokens
                )
                self._sessions[scope] = session
                if len(self._sessions) > MOST_SESSIONS:
                    _, oldest = self._sessions.popitem(last=False)
                    BACKGROUND.submit(oldest.coordinator.close())  # with a last attempt to save what is only here
            self._sessions.move_to_end(scope)
            return session

    def close(self) -> None:
        """Try a last time to save what is only here, and close the memory, also for others with the same settings."""
        with self._lock:
            sessions = list(self._sessions.values())
        closing = [BACKGROUND.submit(session.coordinator.close()) for session in sessions]
        wait(closing, CLOSE_SECONDS)
        self.memory.shared.close()

    def counts(self) -> dict[str, int]:
        """Return how often agents ran away, in all sessions that are at hand."""
        with self._lock:
            sessions = list(self._sessions.values())
        total: dict[str, int] = {}
        for session in sessions:
            for kind, times in session.guards.counts().items():
                total[kind] = total.get(kind, 0) + times
        return total
