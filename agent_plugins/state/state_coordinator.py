"""One state for all agents of a session: they read it at no cost, change it together, and lose nothing.

coordinator = StateCoordinator(memory, Scope("ana", "session-1"))
await coordinator.refresh()
await coordinator.change(fill_slot("title", "Dune", confirmed=True), take_turn())
print(coordinator.to_agent_context(max_tokens=200))
"""

import asyncio
import logging
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Lock
from typing import Any

from agent_plugins.state.agent_context import write_context
from agent_plugins.state.background_loop import BACKGROUND
from agent_plugins.state.operations import Operation, Saved
from agent_plugins.state.saving import DEADLINE_SECONDS, MemorySource, Saving
from agent_plugins.state.session_state import Change, SessionState
from agent_plugins.state.watching import Watching
from mcp_memory_server import InvalidRequestError, Memory, Scope, Status, count_tokens

CONTEXT_TOKENS = 300
WAITING_SECONDS = 3 * DEADLINE_SECONDS
"""Nothing here takes longer. Somebody who is not async waits no longer than that, whatever happens."""

Listener = Callable[[SessionState, SessionState], object]

logger = logging.getLogger(__name__)


class StateCoordinator:
    """The shared state of one session: conversation, task and environment.

    A change is a function that is applied to the newest state, again if somebody else wrote first, so agents that
    change different things at the same time lose nothing. It is acknowledged (``complete``) when the session memory
    has it. Memory trouble never stops an agent: then a change is made here, the answer says ``unavailable``, and it is
    saved when the memory is back.

    Safe to use from any thread and any event loop; what is called ``…_now`` is for code that is not async.
    """

    def __init__(
        self,
        memory: Memory | MemorySource,
        scope: Scope,
        *,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        count: Callable[[str], int] = count_tokens,
    ) -> None:
        if scope.session_id is None:
            raise InvalidRequestError("agents share the state of a session; the scope names none")
        self.scope = scope
        source = _always(memory) if isinstance(memory, Memory) else memory
        self._now = now
        self._monotonic = monotonic
        self._count = count
        self._saving = Saving(source, scope, monotonic=monotonic, came_from_outside=self._tell)
        self._watching = Watching(source, scope, lambda: self._saving.submit(Operation(())))
        self._lock = Lock()
        self._listeners: list[Listener] = []
        self._seen: dict[str | None, object] = {}
        self._began: tuple[str, float, float] | None = None

    @property
    def state(self) -> SessionState:
        """The state as it is known here, without asking anybody."""
        return self._saving.state

    @property
    def status(self) -> Status:
        """Whether this is all of it. ``unavailable``: the session memory was not asked yet, or did not answer."""
        return self._saving.status

    @property
    def unsaved(self) -> int:
        """How many changes are only here, because the session memory did not answer."""
        return self._saving.unsaved

    @property
    def is_watched(self) -> bool:
        """Whether the state here is kept as new as it is anywhere."""
        return self._watching.is_running

    async def change(self, *changes: Change, operation_id: str | None = None) -> Saved:
        """Apply the changes, all or none, in one write. An operation that was applied before is not applied again.

        Raises:
            InvalidRequestError: A change does not allow itself, such as a phase that does not follow.
            NotFoundError: It is about something that is not there.
        """
        return await asyncio.wrap_future(self._submit(changes, operation_id))

    def change_now(self, *changes: Change, operation_id: str | None = None) -> Saved:
        """Do as ``change`` does, for code that is not async."""
        return BACKGROUND.wait_for(self._submit(changes, operation_id), WAITING_SECONDS)

    async def refresh(self) -> Saved:
        """Look at the newest state, in one read."""
        return await asyncio.wrap_future(self._saving.submit(Operation(())))

    def refresh_now(self) -> Saved:
        """Do as ``refresh`` does, for code that is not async."""
        return BACKGROUND.wait_for(self._saving.submit(Operation(())), WAITING_SECONDS)

    async def update_environment(self, **changes: Any) -> Saved:
        """Tell the agents what changed around them, such as ``cart``. For the host; agents only read it.

        Raises:
            InvalidRequestError: An environment has no field of that name.
        """
        return await asyncio.wrap_future(self._update(changes))

    def update_environment_now(self, **changes: Any) -> Saved:
        """Do as ``update_environment`` does, for code that is not async."""
        return BACKGROUND.wait_for(self._update(changes), WAITING_SECONDS)

    @contextmanager
    def watching(self) -> Generator[None]:
        """Keep the state here as new as it is anywhere, for as long as the block runs: while agents work, say."""
        self._watching.begin()
        try:
            yield
        finally:
            self._watching.end()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener, from another thread, with the state before and after whatever somebody else changed.

        Return what ends that. It is called when a change is noticed: while watching, or with the next refresh or
        change.
        """
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock, suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def remaining(self) -> float | None:
        """Return how many seconds are left for the task, below 0 if it is past its budget; None without a budget."""
        task = self.state.task
        if task is None or task.budget is None:
            return None
        with self._lock:
            # The clock of the day is asked once a task, because other processes began it; then it may be set freely.
            if self._began is None or self._began[0] != task.id:
                self._began = task.id, task.elapsed(self._now()), self._monotonic()
            _, elapsed, since = self._began
        return task.budget - elapsed - (self._monotonic() - since)

    def to_agent_context(self, max_tokens: int = CONTEXT_TOKENS, *, agent: str | None = None) -> str:
        """Return what an agent can act on, as short text within the budget; nothing if there is nothing.

        It is written from what is known here: refresh before, or watch. An agent that gives its name is told what
        changed around it since it last asked.
        """
        state = self.state
        before = self._seen.get(agent, state.environment)
        self._seen[agent] = state.environment
        return write_context(
            state,
            self.status,
            self._count,
            max_tokens,
            remaining=self.remaining(),
            environment_changed=before != state.environment,
        )

    async def close(self) -> None:
        """Stop watching, and try a last time to save what is only here, unless the memory failed a moment ago."""
        self._saving.stop()
        ended = self._watching.stop()
        if ended is not None:
            await asyncio.wrap_future(ended)
        if self.unsaved:
            await self.refresh()

    def _submit(self, changes: tuple[Change, ...], operation_id: str | None) -> Future[Saved]:
        return self._saving.submit(Operation(changes, operation_id))

    def _update(self, changes: dict[str, Any]) -> Future[Saved]:
        def update(state: SessionState) -> SessionState:
            return replace(state, environment=state.environment.updated(changes))

        return self._saving.submit(Operation((update,), by_host=True))

    def _tell(self, before: SessionState, now: SessionState) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener(before, now)
            except Exception:
                # A listener is somebody else's code: its error must not stop the others, nor what is being saved.
                logger.exception("a listener of the shared state failed")


def _always(memory: Memory) -> MemorySource:
    async def given() -> Memory:
        return memory

    return given
