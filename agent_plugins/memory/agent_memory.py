"""What agents need of a memory, in a form that never stops them: what cannot be had is told, never raised."""

import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuits import BreakerRules
from agent_plugins.memory.memory_edge import within
from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.memory.turn_retry_queue import TurnRetryQueue
from mcp_memory_server import (
    Memory,
    MemoryServerError,
    MemoryTool,
    Role,
    Scope,
    Status,
    ToolStatus,
    Turn,
    UnavailableError,
    count_tokens,
    error_reply,
)

R = TypeVar("R")

READ_SECONDS = 2.0
WRITE_SECONDS = 10.0
RULES = BreakerRules(threshold=2, rest=5.0)
"""A memory that hangs costs its patience twice, not at every step of an agent."""
LONGEST_TURN = 600
"""Characters of an earlier turn that are told."""
LEAST_TOKENS = BUDGET_STEP = 50

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Told:
    """A text for a model, and whether everything could be looked at."""

    status: Status
    text: str = ""
    missing: tuple[str, ...] = ()


class AgentMemory:
    """A memory as any number of agents use it, from any thread and any event loop. ``turns`` keeps what is said."""

    def __init__(
        self, shared: SharedMemory, *, read_seconds: float = READ_SECONDS, write_seconds: float = WRITE_SECONDS
    ) -> None:
        self.shared = shared
        self.turns = TurnRetryQueue(shared, seconds=write_seconds)
        self._read_seconds = read_seconds
        self._write_seconds = write_seconds
        self._circuit = CircuitBreaker("memory", RULES)

    async def known(self, scope: Scope, max_tokens: int) -> Told:
        """Return what is worth knowing about the user, as Markdown within the budget."""
        # In steps: a page is only written anew when its budget is another one, and budgets change with every turn.
        budget = max(LEAST_TOKENS, max_tokens - max_tokens % BUDGET_STEP)
        try:
            page = await self.ask(lambda memory: memory.context.load(Scope(scope.user_id), max_tokens=budget))
        except MemoryServerError as error:
            return Told(Status.UNAVAILABLE, missing=(f"what is known about the user: {error}",))
        return Told(page.status, page.text, page.missing)

    async def earlier(self, scope: Scope, max_tokens: int) -> Told:
        """Return what was said in the session before, the newest that fits, one line a turn."""
        try:
            session = await self.ask(lambda memory: memory.conversations.load(scope))
        except MemoryServerError as error:
            return Told(Status.UNAVAILABLE, missing=(f"what was said earlier in this conversation: {error}",))
        lines = list(_newest_lines(session.turns, max_tokens))
        return Told(session.status, "\n".join(reversed(lines)), session.missing)

    async def log_tool(
        self, scope: Scope, name: str, inputs: Mapping[str, Any], output: str, seconds: float, status: ToolStatus
    ) -> None:
        """Note a call of a tool. It is written later; what cannot be is given up."""

        async def record(memory: Memory) -> None:
            memory.tool_log.record(scope, name, inputs, output, duration=timedelta(seconds=seconds), status=status)

        try:
            await self.ask(record)
        except MemoryServerError as error:
            logger.warning("a call of a tool is not logged: %s", error)

    async def use(self, tool: MemoryTool, scope: Scope, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Answer one of the memory tools."""
        try:
            return await self.ask(lambda memory: tool.call(memory, scope, arguments), seconds=self._write_seconds)
        except MemoryServerError as error:
            return error_reply(error)

    async def ask(self, work: Callable[[Memory], Awaitable[R]], *, seconds: float | None = None) -> R:
        """Run the work with the memory, within so many seconds, by default those for reads.

        Raises:
            UnavailableError: It did not answer in time, or did not lately.
            MemoryServerError: What the work itself raised. Nothing else gets through.
        """
        with self._circuit.ask() as permit:
            try:
                return await within(self._read_seconds if seconds is None else seconds, self.shared, work)
            except UnavailableError:
                raise
            except MemoryServerError:
                permit.succeeded()  # an answer, if not the wanted one
                raise


def _newest_lines(turns: Sequence[Turn], room: int) -> Iterator[str]:
    """Yield what was said in words, the newest first, as long as there is room."""
    for turn in reversed(turns):
        said = " ".join(turn.content.split())
        if not said or turn.role is Role.TOOL:
            continue
        cut = said if len(said) <= LONGEST_TURN else said[:LONGEST_TURN] + "…"
        line = f"- {turn.speaker or turn.role.value}: {cut}"
        if (room := room - count_tokens(line) - 1) < 0:
            return
        yield line
