"""What agents need of a memory, in a form that never stops them: what cannot be had is told, never raised."""

import asyncio
import logging
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from threading import RLock
from typing import TYPE_CHECKING, Any, TypeVar

from agent_plugins.background_loop import BACKGROUND
from agent_plugins.circuit_breaker import CircuitBreaker
from agent_plugins.circuits import BreakerRules
from agent_plugins.memory_tools import MemoryTool, Reply, refusal
from agent_plugins.shared_memory import SharedMemory
from mcp_memory_server import (
    Memory,
    MemoryServerError,
    NewTurn,
    Role,
    Scope,
    Status,
    ToolStatus,
    UnavailableError,
    count_tokens,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

R = TypeVar("R")

READ_SECONDS = 2.0
WRITE_SECONDS = 10.0
RULES = BreakerRules(threshold=2, rest=5.0)
"""A memory that hangs costs its patience twice, not at every step of an agent."""
MOST_UNSAVED = 100
MOST_SESSIONS = 1000
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


@dataclass(frozen=True)
class _Unsaved:
    turn: NewTurn
    operation_id: str


class AgentMemory:
    """A memory behind an edge: every call ends in time, and no error of the memory gets past it.

    Used from any thread and any event loop, by any number of agents.
    """

    def __init__(
        self, shared: SharedMemory, *, read_seconds: float = READ_SECONDS, write_seconds: float = WRITE_SECONDS
    ) -> None:
        self.shared = shared
        self._read_seconds = read_seconds
        self._write_seconds = write_seconds
        self._circuit = CircuitBreaker("memory", RULES)
        self._lock = RLock()  # a turn may be kept before the one who began it has noted that
        self._unsaved: OrderedDict[Scope, deque[_Unsaved]] = OrderedDict()
        self._begun: dict[Scope, Future[bool]] = {}

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
        lines: list[str] = []
        for turn in reversed([turn for turn in session.turns if turn.content and turn.role is not Role.TOOL]):
            said = " ".join(turn.content.split())
            line = (
                f"- {turn.speaker or turn.role.value}: {said[:LONGEST_TURN]}{'…' if len(said) > LONGEST_TURN else ''}"
            )
            if (max_tokens := max_tokens - count_tokens(line) - 1) < 0:
                break
            lines.insert(0, line)
        return Told(session.status, "\n".join(lines), session.missing)

    async def append(self, scope: Scope, turn: NewTurn, operation_id: str) -> bool:
        """Keep a turn of the session, and what could not be kept before; tell whether all of it was.

        What could not be kept is tried again with the next turn, in order, as long as the process lives.
        """
        waiting = self._taken(scope)
        waiting.append(_Unsaved(turn, operation_id))
        while waiting:
            first = waiting[0]
            try:
                await self._saved(scope, first)
            except UnavailableError as error:
                logger.warning("%d messages are not saved yet: %s", len(waiting), error)
                self._put_back(scope, waiting)
                return False
            except MemoryServerError as error:  # it can never be saved, so it must not keep others from it
                logger.warning("a message cannot be saved: %s", error)
            except BaseException:  # the call was cancelled: what was in hand is tried again with the next turn
                self._put_back(scope, waiting)
                raise
            waiting.popleft()
        return True

    def begin_append(self, scope: Scope, turn: NewTurn, operation_id: str) -> "Future[bool]":
        """Begin to keep a turn, after those of the session that were begun before; the answer is that of `append`.

        It goes on when whoever began it is cancelled, or its event loop is gone.
        """
        with self._lock:
            before = self._begun.get(scope)
            begun = BACKGROUND.submit(self._append_after(before, scope, turn, operation_id))
            self._begun[scope] = begun
        begun.add_done_callback(lambda done: self._has_ended(scope, done))
        return begun

    def unsaved(self, scope: Scope) -> int:
        """Return how many messages of the session wait to be saved."""
        with self._lock:
            return len(self._unsaved.get(scope, ()))

    async def log_tool(
        self, scope: Scope, name: str, inputs: Mapping[str, Any], output: str, seconds: float, status: ToolStatus
    ) -> None:
        """Note a call of a tool. It is written later; what cannot be is given up."""
        try:
            memory = await self._opened()
            memory.tool_log.record(scope, name, inputs, output, duration=timedelta(seconds=seconds), status=status)
        except MemoryServerError as error:
            logger.warning("a call of a tool is not logged: %s", error)

    async def use(self, tool: MemoryTool, scope: Scope, arguments: Mapping[str, Any]) -> Reply:
        """Answer one of the memory tools."""
        try:
            return await self.ask(lambda memory: tool.answer(memory, scope, **arguments))
        except MemoryServerError as error:
            return refusal(error)

    async def ask(self, work: Callable[[Memory], Awaitable[R]]) -> R:
        """Run the work with the memory, within the time for reads.

        Raises:
            UnavailableError: It did not answer in time, or did not lately.
            MemoryServerError: What the work itself raised. Nothing else gets through.
        """
        with self._circuit.ask() as permit:
            try:
                async with asyncio.timeout(self._read_seconds):
                    return await work(await self._opened())
            except (TimeoutError, UnavailableError) as error:
                raise _unavailable(error) from error
            except MemoryServerError:
                permit.succeeded()  # an answer, if not the wanted one
                raise
            except Exception as error:  # the edge: a bug in the memory must not end an agent
                logger.exception("the memory failed")
                raise UnavailableError(f"an internal error of the memory ({type(error).__name__})") from error

    async def _append_after(
        self, before: "Future[bool] | None", scope: Scope, turn: NewTurn, operation_id: str
    ) -> bool:
        if before is not None:
            await asyncio.wait([asyncio.wrap_future(before)])
        return await self.append(scope, turn, operation_id)

    def _has_ended(self, scope: Scope, done: "Future[bool]") -> None:
        with self._lock:
            if self._begun.get(scope) is done:
                del self._begun[scope]

    async def _opened(self) -> Memory:
        try:
            return await self.shared.get()
        except MemoryServerError as error:  # it is tried again later, so nothing is lost for good
            raise UnavailableError(f"the memory could not be opened: {error}") from error

    async def _saved(self, scope: Scope, unsaved: _Unsaved) -> None:
        try:
            async with asyncio.timeout(self._write_seconds):
                memory = await self._opened()
                await memory.conversations.append(scope, unsaved.turn, operation_id=unsaved.operation_id)
        except TimeoutError as error:
            raise _unavailable(error) from error
        except MemoryServerError:
            raise
        except Exception as error:  # the edge, as above
            logger.exception("the memory failed")
            raise UnavailableError(f"an internal error of the memory ({type(error).__name__})") from error

    def _taken(self, scope: Scope) -> deque[_Unsaved]:
        with self._lock:
            return self._unsaved.pop(scope, None) or deque()

    def _put_back(self, scope: Scope, waiting: deque[_Unsaved]) -> None:
        with self._lock:
            waiting.extend(self._unsaved.pop(scope, ()))
            while len(waiting) > MOST_UNSAVED:
                waiting.popleft()
                logger.warning("a message is lost: too many could not be saved")
            self._unsaved[scope] = waiting
            while len(self._unsaved) > MOST_SESSIONS:
                self._unsaved.popitem(last=False)
                logger.warning("the messages of a session are lost: too many could not be saved")


def _unavailable(error: Exception) -> UnavailableError:
    if isinstance(error, UnavailableError):
        return error
    return UnavailableError("the memory did not answer in time")
