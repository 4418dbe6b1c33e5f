"""Sessions of agents. All agents of a session have the same memory, shared state, guards and locks."""

import logging
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass
from threading import Lock
from typing import Any

from agent_plugins.argument_checks import check_type
from agent_plugins.guards.agent_locks import AgentLocks
from agent_plugins.guards.loop_guards import GuardRules, Guards
from agent_plugins.memory.agent_memory import AgentMemory
from agent_plugins.memory.earlier_section import earlier_section
from agent_plugins.memory.prompt_block import PromptSection, count_escape_tokens, render_prompt_block
from agent_plugins.state.background_loop import BACKGROUND
from agent_plugins.state.changes import (
    ask_user,
    begin_task,
    end_call,
    end_task,
    hand_over,
    start_call,
    take_turn,
    understand,
    user_answered,
)
from agent_plugins.state.session_state import Change
from agent_plugins.state.state_coordinator import StateCoordinator
from agent_plugins.state.task_state import StepStatus
from agent_plugins.state.token_budget import LEAST_FOR_MEMORY, split_budget
from mcp_memory_server import (
    ConversationSoFar,
    EndedSession,
    InvalidRequestError,
    MemoryServerError,
    Scope,
    Status,
    ToolStatus,
    Turn,
    count_tokens,
)

MAX_TOKENS = 800
EARLIER_SHARE = 2
"""The conversation so far gets up to half of the budget, as far as the messages of the agent lack it; the shared state
and the memory get the remainder."""
TURNS_LOADED = 30
"""So many of the last turns of a conversation are loaded as they were said. A summary has those before."""
MEMORY_TOKENS = 300
MEMORY_SHARE = 3 / 8
"""The memory gets up to so many tokens, in a larger budget up to this share: it is chosen for the words of the user."""
LEAST_TOKENS = 150
RULES, SUMMARIZER = "rules", "summarizer"
MOST_LEARNED = 20
"""So many of the last turns are learned from after a turn."""
FENCE_TOKENS = 40
LONGEST_RESULT = 200
CLOSE_SECONDS = 10.0
MOST_SESSIONS = 1000

_STEPS = {
    ToolStatus.OK: StepStatus.DONE,
    ToolStatus.ERROR: StepStatus.FAILED,
    ToolStatus.TIMEOUT: StepStatus.TIMED_OUT,
}

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
    learn_by: str | None = None

    async def load_conversation(self, turns: int = TURNS_LOADED) -> ConversationSoFar:
        """Return the conversation so far: the newest turns, and a summary of those before."""
        return await self.memory.load_conversation(self.scope, turns)

    def earlier(self, summary: str | None, turns: Sequence[Turn] = (), missing: Sequence[str] = ()) -> PromptSection:
        """Return what the messages of an agent lack of the conversation, as a section of the prompt block."""
        return earlier_section(summary, turns, missing, self.max_tokens // EARLIER_SHARE - FENCE_TOKENS)

    async def context(
        self,
        agent: str,
        earlier: PromptSection | None = None,
        *,
        words: str = "",
        said: str = "",
        always: PromptSection | None = None,
        begins: bool = False,
        is_fresh: bool = False,
    ) -> str:
        """Return the prompt block for an answer to these words: memory, earlier turns and shared state, in one budget.

        What the conversation contains already, whose texts are ``said``, is not repeated; nor is what ``always``
        matters, if that is in the system prompt. A conversation that ``begins`` gets what the last one was about.
        The shared state is read, unless it ``is_fresh``.
        """
        if not is_fresh:
            await self.coordinator.refresh()
        before = "" if earlier is None else earlier.text
        spent = FENCE_TOKENS + count_tokens(before) + count_escape_tokens(before)
        text, left = split_budget(self.coordinator, max(LEAST_FOR_MEMORY, self.max_tokens - spent), agent=agent)
        known = await self._relevant(
            words,
            "\n".join((said, before, "" if always is None else always.text)),
            left,
            with_always=always is None,
            with_handoff=begins,
        )
        status = self.coordinator.status
        missing = ("what the agents of this session share",) if status is Status.UNAVAILABLE else ()
        self.guards.time_checked(remaining=self.coordinator.remaining())  # only counted: the text of the state says it
        findings = [finding.message for finding in self.guards.locks_held_too_long()]
        return render_prompt_block(
            known, earlier, PromptSection(status, text, missing), findings, self.memory.turns.unsaved(self.scope)
        )

    async def load_always(self) -> PromptSection:
        """Return what always matters about the user, for the system prompt. It changes only if a memory does."""
        return await self.memory.load_always(self.scope, self._most_for_memory())

    def _most_for_memory(self) -> int:
        """Return the most tokens of what is known about the user, without the fence."""
        share = max(MEMORY_TOKENS, int(self.max_tokens * MEMORY_SHARE))
        return max(LEAST_FOR_MEMORY, min(share, self.max_tokens) - FENCE_TOKENS)

    async def _relevant(
        self, words: str, said: str, left: int, *, with_always: bool, with_handoff: bool
    ) -> PromptSection:
        async def load(room: int) -> PromptSection:
            return await self.memory.load_relevant(
                self.scope, words, room, said=said, with_always=with_always, with_handoff=with_handoff
            )

        room = min(left, self._most_for_memory())
        found = await load(room)
        escapes = count_escape_tokens(found.text)
        return await load(room - escapes) if escapes else found

    async def tool_begins(
        self, call: str, tool: str, inputs: Mapping[str, Any], agent: str, *, limit: float | None = None
    ) -> None:
        """Add a call of a tool, with its time limit, as a step of the current task, if there is one."""
        if self.coordinator.may_have_task:
            self.coordinator.change_soon(start_call(call, tool, inputs, agent=agent, timeout=limit))

    async def tool_ended(
        self, call: str, tool: str, inputs: Mapping[str, Any], output: str, seconds: float, status: ToolStatus
    ) -> None:
        """Log a call of a tool, and end its step."""
        await self.memory.log_tool(self.scope, tool, inputs, output, seconds, status)
        if self.coordinator.may_have_task:
            result, error = (
                (output[:LONGEST_RESULT], None) if status is ToolStatus.OK else (None, output or status.value)
            )
            self.coordinator.change_soon(end_call(call, _STEPS[status], result=result, error=error, duration=seconds))

    async def turn_begins(self, goal: str, *, seconds: float | None = None) -> None:
        """Begin a turn of the user, with a task if there is a time limit."""
        self.guards.user_spoke()
        if seconds is not None:
            self.coordinator.change_soon(begin_task(goal, budget=seconds))

    async def turn_ended(self, operation_id: str | None = None) -> None:
        """Count a turn, and end its task."""
        await self._change(take_turn(), end_task(), operation_id=operation_id)

    def learn(self, turns: int) -> None:
        """Begin to learn from the last turns, if that is wanted after each turn. Nobody waits for it."""
        if self.learn_by is not None and turns:
            self.memory.in_background(
                self.memory.learn_from_last(
                    self.scope, min(turns, MOST_LEARNED), with_model=self.learn_by == SUMMARIZER
                )
            )

    async def agent_takes_over(self, agent: str, *, intent: str | None = None) -> None:
        """Set which agent is in charge, and what the user wants if that is known."""
        await self._change(hand_over(agent), *([] if intent is None else [understand(intent), user_answered()]))

    async def asks_user(self, question: str) -> None:
        """Set the question that the user must answer before an agent can be chosen."""
        await self._change(ask_user(question))

    async def _change(self, *changes: Change, operation_id: str | None = None) -> None:
        try:
            await self.coordinator.change(*changes, operation_id=operation_id)
        except MemoryServerError as error:  # for example, another agent ended the task: agents go on
            logger.info("the shared state was not changed: %s", error)
        except Exception as error:  # noqa: BLE001 - a failed state change must not end the turn
            logger.warning("the shared state was not changed: %s", type(error).__name__)


class AgentSessions:
    """The sessions of the agents of this process. The least recently used ones are evicted."""

    def __init__(
        self,
        memory: AgentMemory,
        *,
        max_tokens: int = MAX_TOKENS,
        guard_rules: GuardRules | None = None,
        learn_by: str | None = None,
    ) -> None:
        if learn_by not in (None, RULES, SUMMARIZER):
            raise InvalidRequestError(f"learn_by must be {RULES!r}, {SUMMARIZER!r} or None, got {learn_by!r}")
        check_type("max_tokens", max_tokens, int, "a number such as 800")
        check_type("guard_rules", guard_rules, (GuardRules, type(None)), "GuardRules(repeats=3)")
        if max_tokens < LEAST_TOKENS:
            raise InvalidRequestError(f"max_tokens must be at least {LEAST_TOKENS}, got {max_tokens}")
        self.memory = memory
        self._max_tokens = max_tokens
        self._guard_rules = guard_rules
        self._learn_by = learn_by
        self._lock = Lock()
        self._sessions: OrderedDict[Scope, AgentSession] = OrderedDict()

    def of(self, scope: Scope) -> AgentSession:
        """Return the session, the same object for all agents."""
        with self._lock:
            session = self._sessions.get(scope)
            if session is None:
                turns, guards = self.memory.turns, Guards(self._guard_rules)
                coordinator = StateCoordinator(self.memory.shared.get, scope, save_turns=lambda: turns.flush(scope))
                session = AgentSession(
                    scope,
                    self.memory,
                    coordinator,
                    guards,
                    AgentLocks(guards),
                    max_tokens=self._max_tokens,
                    learn_by=self._learn_by,
                )
                self._sessions[scope] = session
                if len(self._sessions) > MOST_SESSIONS:
                    _, oldest = self._sessions.popitem(last=False)
                    BACKGROUND.submit(oldest.coordinator.close())  # with a last attempt to save unsaved changes
            self._sessions.move_to_end(scope)
            return session

    async def end(
        self, scope: Scope, *, summary: str | None = None, open_questions: Sequence[str] = ()
    ) -> EndedSession:
        """End a session. A turn in it afterwards continues it, with a new shared state.

        Raises:
            UnavailableError: The memory did not answer.
        """
        ended = await self.memory.end_session(scope, summary, open_questions)
        with self._lock:
            session = self._sessions.pop(scope, None)
        if session is not None:
            BACKGROUND.submit(session.coordinator.close())
        return ended

    def close(self) -> None:
        """Try once more to save changes, and close the memory, also for other plugins with the same settings."""
        with self._lock:
            sessions = list(self._sessions.values())
        closing: list[Future[None]] = [BACKGROUND.submit(session.coordinator.close()) for session in sessions]
        closing.append(BACKGROUND.submit(self.memory.turns.flush_all()))
        closing += self.memory.in_progress()
        wait(closing, CLOSE_SECONDS)
        self.memory.shared.close()

    def counts(self) -> dict[str, int]:
        """Return the number of findings of the guards, over all cached sessions."""
        with self._lock:
            sessions = list(self._sessions.values())
        total: dict[str, int] = {}
        for session in sessions:
            for kind, times in session.guards.counts().items():
                total[kind] = total.get(kind, 0) + times
        return total
