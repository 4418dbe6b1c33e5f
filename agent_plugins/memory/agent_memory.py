"""The memory operations that agents need. A failure becomes part of the result and is never raised to the agent."""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from datetime import timedelta
from typing import Any, TypeVar

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules
from agent_plugins.breakers.failures import every_error
from agent_plugins.memory.arguments import check_type
from agent_plugins.memory.memory_calls import call_memory
from agent_plugins.memory.prompt_block import PromptSection, user_section
from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.memory.turn_retry_queue import TurnRetryQueue
from agent_plugins.state.background_loop import BACKGROUND
from agent_plugins.telemetry import span, status_of
from mcp_memory_server import (
    ConversationSoFar,
    EndedSession,
    Memory,
    MemoryServerError,
    MemoryTool,
    Owners,
    Scope,
    Status,
    ToolStatus,
    TurnMemories,
    UnavailableError,
    error_reply,
)

R = TypeVar("R")

READ_SECONDS = 2.0
WRITE_SECONDS = 10.0
LEARN_SECONDS = 60.0
"""A model may be asked, while nobody waits."""
RULES = BreakerRules(threshold=2, rest=5.0, is_failure=every_error)
"""A memory that hangs costs its timeout twice, not with every step of an agent."""
LEAST_TOKENS = 50
SEARCH = "search_memory"
OPERATIONS = {"remember_fact": "upsert_memory", "set_preference": "upsert_memory", "forget": "delete_memory"}
"""The memory tools that do not only read, by the conventions of OpenTelemetry."""

logger = logging.getLogger(__name__)


class AgentMemory:
    """A memory for any number of agents, safe to use from any thread and event loop. ``turns`` saves messages."""

    def __init__(
        self,
        shared: SharedMemory,
        *,
        owners: Owners | None = None,
        read_seconds: float = READ_SECONDS,
        write_seconds: float = WRITE_SECONDS,
    ) -> None:
        """``owners`` are the memories beside the user's own, for what is known; sessions are always the user's."""
        if owners is not None:
            check_type("owners", owners, Owners, "Owners(agent='travel', team='acme', shared=('handbook',))")
        self.shared = shared
        self._owners = owners
        self.turns = TurnRetryQueue(shared, seconds=write_seconds)
        self._read_seconds = read_seconds
        self._write_seconds = write_seconds
        self._in_progress: set[Future[None]] = set()
        self._circuit = CircuitBreaker("memory", RULES)

    async def load_always(self, scope: Scope, max_tokens: int) -> PromptSection:
        """Return what always matters about the user: it stays the same until a memory changes."""
        return await self._about_user(
            lambda memory: memory.context.for_turn(self._reading(scope), max_tokens=max_tokens, with_matches=False)
        )

    async def load_relevant(
        self,
        scope: Scope,
        words: str,
        max_tokens: int,
        *,
        said: str = "",
        with_always: bool = True,
        with_handoff: bool = False,
    ) -> PromptSection:
        """Return what is known about the user that matters for these words, and is not part of what was ``said``.

        ``with_handoff`` adds what earlier conversations were about.
        """
        budget = max(LEAST_TOKENS, max_tokens)
        return await self._about_user(
            lambda memory: memory.context.for_turn(
                self._reading(scope),
                words,
                max_tokens=budget,
                said=said,
                with_always=with_always,
                with_handoff=with_handoff,
            )
        )

    async def load_conversation(self, scope: Scope, turns: int) -> ConversationSoFar:
        """Return the conversation so far: the newest turns, and a summary of those before."""
        try:
            return await self.ask(lambda memory: memory.resumption.load(scope, turns=turns))
        except MemoryServerError as error:
            missing = (f"what was said earlier in this conversation: {error}",)
            return ConversationSoFar(Status.UNAVAILABLE, (), 0, missing=missing)

    def _reading(self, scope: Scope) -> Scope:
        """Return the scope with the memories beside the user's own."""
        return scope if self._owners is None else self._owners.scope(scope.user_id, scope.session_id)

    async def _about_user(self, load: Callable[[Memory], Awaitable[TurnMemories]]) -> PromptSection:
        try:
            found = await self.ask(load)
        except MemoryServerError as error:
            return PromptSection(Status.UNAVAILABLE, missing=(f"what is known about the user: {error}",))
        return user_section(found)

    async def log_tool(
        self, scope: Scope, name: str, inputs: Mapping[str, Any], output: str, seconds: float, status: ToolStatus
    ) -> None:
        """Log a call of a tool. It is written in the background; a failure is only logged."""

        async def record(memory: Memory) -> None:
            memory.tool_log.record(scope, name, inputs, output, duration=timedelta(seconds=seconds), status=status)

        try:
            await self._ask(record, self._read_seconds)
        except MemoryServerError as error:
            logger.warning("a call of a tool is not logged: %s", error)

    async def learn_from_last(self, scope: Scope, turns: int, *, with_model: bool) -> None:
        """Learn what was stated in the last turns of a session. After a failure its end learns the same."""
        try:
            await self.ask(
                lambda memory: memory.finalizer.learn_from_last(scope, turns=turns, with_model=with_model),
                seconds=LEARN_SECONDS,
            )
        except MemoryServerError as error:
            logger.info("the last turns of a session are learned from when it ends: %s", error)

    def in_background(self, work: Coroutine[Any, Any, None]) -> None:
        """Run the work while nobody waits for it, unless the memory is closed."""
        running = BACKGROUND.submit(work)
        self._in_progress.add(running)
        running.add_done_callback(self._in_progress.discard)

    def in_progress(self) -> list[Future[None]]:
        """Return the work that is not done yet."""
        return list(self._in_progress)

    async def end_session(self, scope: Scope, summary: str | None, open_questions: Sequence[str]) -> EndedSession:
        """Save what waits, and end the session.

        Raises:
            UnavailableError: The memory did not answer.
        """
        await self.turns.flush(scope)
        return await self.ask(
            lambda memory: memory.conversations.end(scope, summary=summary, open_questions=open_questions),
            seconds=self._write_seconds,
        )

    async def use(self, tool: MemoryTool, scope: Scope, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call one of the memory tools, and return its reply."""
        try:
            return await self.ask(
                lambda memory: tool.call(memory, self._reading(scope), arguments),
                seconds=self._write_seconds,
                operation=OPERATIONS.get(tool.name, SEARCH),
            )
        except MemoryServerError as error:
            return error_reply(error)

    async def ask(
        self, work: Callable[[Memory], Awaitable[R]], *, seconds: float | None = None, operation: str = SEARCH
    ) -> R:
        """Run the work with the memory, within ``seconds``, by default the timeout of reads, and in a span.

        Raises:
            UnavailableError: The memory did not answer in time, or its circuit is open.
            MemoryServerError: What the work itself raised. Nothing else is raised.
        """
        with span(operation, gen_ai__operation__name=operation) as made:
            done = await self._ask(work, self._read_seconds if seconds is None else seconds)
            if (status := status_of(done)) is not None:
                made.set_attribute("memory.status", status)
            return done

    async def _ask(self, work: Callable[[Memory], Awaitable[R]], seconds: float) -> R:
        with self._circuit.ask() as permit:
            try:
                return await call_memory(seconds, self.shared, work)
            except UnavailableError:
                raise
            except MemoryServerError:
                permit.succeeded()  # an error is an answer too
                raise
