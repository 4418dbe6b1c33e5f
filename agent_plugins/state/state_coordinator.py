"""One state for all agents of a session: reading it is free, and concurrent changes are never lost.

coordinator = StateCoordinator(memory, Scope("ana", "session-1"))
await coordinator.refresh()
await coordinator.change(fill_slot("title", "Dune", confirmed=True), take_turn())
print(coordinator.to_agent_context(max_tokens=200))
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import replace
from threading import Lock
from typing import Any

from agent_plugins.argument_checks import check_type
from agent_plugins.state.agent_context import write_context
from agent_plugins.state.background_loop import BACKGROUND
from agent_plugins.state.change_batches import Operation, Saved
from agent_plugins.state.changes import escalate, time_out_steps
from agent_plugins.state.conversation_state import Handoff
from agent_plugins.state.handoff_packet import HandoffPacket, packet
from agent_plugins.state.session_state import Change, SessionState
from agent_plugins.state.state_saver import DEADLINE_SECONDS, MemorySource, StateSaver
from agent_plugins.state.state_watcher import StateWatcher
from mcp_memory_server import InvalidRequestError, Memory, MemoryServerError, Scope, Status, count_tokens

CONTEXT_TOKENS = 300
MAX_WAIT_SECONDS = 3 * DEADLINE_SECONDS
"""The longest that a synchronous call waits."""
HANDOFF_TURNS = 10

Listener = Callable[[SessionState, SessionState], object]

logger = logging.getLogger(__name__)


class StateCoordinator:
    """The shared state of one session: conversation, task and environment.

    A change is a function that is applied to the newest state, and applied again after a conflict, so that agents may
    change different things at the same time. It is acknowledged (``complete``) when the store has it. A
    memory that is down never stops an agent: the change is applied locally, the result says ``unavailable``, and it is
    saved when the memory is back.

    Safe to use from any thread and any event loop; methods that end in ``_now`` are for synchronous code.
    """

    def __init__(
        self,
        memory: Memory | MemorySource,
        scope: Scope,
        *,
        now: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
        count: Callable[[str], int] = count_tokens,
        save_turns: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        """Make the coordinator of a session. ``save_turns`` is awaited before the last turns are read for a packet."""
        check_type("scope", scope, Scope, "Scope('ana', 'chat-7')")
        if scope.session_id is None:
            raise InvalidRequestError("agents share the state of a session; the scope names none")
        self.scope = scope
        if not isinstance(memory, Memory) and not callable(memory):
            raise InvalidRequestError(f"memory must be an open Memory, got {memory!r} ({type(memory).__name__})")
        self._memory = source = _source_of(memory) if isinstance(memory, Memory) else memory
        self._save_turns = save_turns
        self._now = now
        self._monotonic = monotonic
        self._count = count
        self._saver = StateSaver(source, scope, monotonic=monotonic, on_external_change=self._notify_listeners)
        self._watcher = StateWatcher(source, scope, lambda: self._saver.submit(Operation(())))
        self._lock = Lock()
        self._listeners: list[Listener] = []
        self._last_environment: dict[str | None, object] = {}
        self._task_started: tuple[str, float, float] | None = None

    @property
    def state(self) -> SessionState:
        """The state as this process knows it, without a read. Steps whose timeout is over have timed out."""
        return time_out_steps(self._now())(self._saver.state)

    @property
    def status(self) -> Status:
        """Whether the state is complete. ``unavailable``: the store was not asked yet, or did not answer."""
        return self._saver.status

    @property
    def unsaved(self) -> int:
        """How many changes are not saved yet, because the store did not answer."""
        return self._saver.unsaved

    @property
    def may_have_task(self) -> bool:
        """Whether a task is under way, or a change is being applied that may have begun one."""
        return self._saver.state.task is not None or self._saver.is_busy

    @property
    def is_watched(self) -> bool:
        """Whether changes of other processes are being followed."""
        return self._watcher.is_running

    async def change(self, *changes: Change, operation_id: str | None = None) -> Saved:
        """Apply the changes, all or none, in one write. An operation id that was applied before is not applied again.

        Raises:
            InvalidRequestError: A change is not allowed, such as a phase that cannot follow the current one.
            NotFoundError: A change is about a slot, step or task that does not exist.
        """
        return await asyncio.wrap_future(self._submit(changes, operation_id))

    def change_now(self, *changes: Change, operation_id: str | None = None) -> Saved:
        """Do as ``change`` does, for synchronous code."""
        return BACKGROUND.wait_for(self._submit(changes, operation_id), MAX_WAIT_SECONDS)

    def change_soon(self, *changes: Change) -> None:
        """Apply the changes locally, and save them with the next change, or in two seconds. For progress of a step.

        They are not acknowledged: a process that is killed within this time loses them.
        """
        self._saver.submit(Operation(changes, may_wait=True))

    async def refresh(self) -> Saved:
        """Read the newest state."""
        return await asyncio.wrap_future(self._saver.submit(Operation(())))

    def refresh_now(self) -> Saved:
        """Do as ``refresh`` does, for synchronous code."""
        return BACKGROUND.wait_for(self._saver.submit(Operation(())), MAX_WAIT_SECONDS)

    async def update_environment(self, **changes: Any) -> Saved:
        """Change the environment: ``cart``, ``tier``, or any field of your own. For the host application; agents only
        read it.

        Raises:
            InvalidRequestError: A value is too long, or there are too many fields.
        """
        return await asyncio.wrap_future(self._update(changes))

    def update_environment_now(self, **changes: Any) -> Saved:
        """Do as ``update_environment`` does, for synchronous code."""
        return BACKGROUND.wait_for(self._update(changes), MAX_WAIT_SECONDS)

    async def escalate(
        self, reason: str, *, to: str | None = None, agent: str | None = None, turns: int = HANDOFF_TURNS
    ) -> HandoffPacket:
        """Give the conversation to a person, and return the packet that their system needs.

        The conversation stays in the phase `Phase.HANDOFF` until `return_to_agents`. A memory that is down is no reason
        to keep the user waiting: the packet then says what is missing.
        """
        handoff = Handoff(reason, to, agent, self._now())
        saved = await self.change(escalate(reason, to=to, agent=agent, now=handoff.at))
        return await self._packet(saved.state, handoff, turns, saved.status)

    def escalate_now(
        self, reason: str, *, to: str | None = None, agent: str | None = None, turns: int = HANDOFF_TURNS
    ) -> HandoffPacket:
        """Do as ``escalate`` does, for synchronous code."""
        escalating = BACKGROUND.submit(self.escalate(reason, to=to, agent=agent, turns=turns))
        return BACKGROUND.wait_for(escalating, MAX_WAIT_SECONDS)

    async def handoff_packet(self, *, turns: int = HANDOFF_TURNS) -> HandoffPacket | None:
        """Return the packet of a conversation that a person has, with what was said since; None if no person has it."""
        saved = await self.refresh()
        handoff = saved.state.conversation.handoff
        return None if handoff is None else await self._packet(saved.state, handoff, turns, saved.status)

    @contextmanager
    def watching(self) -> Generator[None]:
        """Follow the changes of other processes while the block runs."""
        self._watcher.begin()
        try:
            yield
        finally:
            self._watcher.end()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call the listener, from another thread, with the state before and after a change by another process.

        Return a function that removes it. A change is noticed while watching, or with the next refresh or change.
        """
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock, suppress(ValueError):
                self._listeners.remove(listener)

        return end

    def remaining(self) -> float | None:
        """Return how many seconds are left for the task, below 0 if it is over its budget; None without a budget."""
        task = self.state.task
        if task is None or task.budget is None:
            return None
        with self._lock:
            # The wall clock is read once per task, which another process may have begun; then the monotonic one.
            if self._task_started is None or self._task_started[0] != task.id:
                self._task_started = task.id, task.elapsed(self._now()), self._monotonic()
            _, elapsed, since = self._task_started
        return task.budget - elapsed - (self._monotonic() - since)

    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain data, with every field: what is missing, what to ask next, and the time left."""
        return {
            "user_id": self.scope.user_id,
            "session_id": self.scope.session_id,
            "status": self.status.value,
            "unsaved": self.unsaved,
            "remaining": self.remaining(),
            **self.state.to_dict(),
        }

    def to_agent_context(self, max_tokens: int = CONTEXT_TOKENS, *, agent: str | None = None) -> str:
        """Return the state as short text for an agent, within the budget; an empty text if there is nothing to act on.

        It is made from ``state`` without a read: refresh before, or watch. For a named ``agent`` it says what changed
        in the environment since its last call.
        """
        state = self.state
        before = self._last_environment.get(agent, state.environment)
        self._last_environment[agent] = state.environment
        return write_context(
            state,
            self.status,
            self._count,
            max_tokens,
            remaining=self.remaining(),
            environment_changed=before != state.environment,
            agent=agent,
        )

    async def close(self) -> None:
        """Stop watching, and try once more to save unsaved changes, unless the memory has just failed."""
        self._saver.stop()
        ended = self._watcher.stop()
        if ended is not None:
            await asyncio.wrap_future(ended)
        if self.unsaved:
            await asyncio.wrap_future(self._saver.submit(Operation((), saves_all=True)))

    def _submit(self, changes: tuple[Change, ...], operation_id: str | None) -> Future[Saved]:
        now = self._now()
        return self._saver.submit(Operation((time_out_steps(now), *changes), operation_id))

    async def _packet(self, state: SessionState, handoff: Handoff, turns: int, status: Status) -> HandoffPacket:
        missing = [] if status is Status.COMPLETE else ["what other agents changed last"]
        try:
            async with asyncio.timeout(DEADLINE_SECONDS):
                if self._save_turns is not None:
                    await self._save_turns()
                said = await (await self._memory()).resumption.load(self.scope, turns=turns)
        except (MemoryServerError, TimeoutError):
            return packet(
                self.scope, state, handoff, turns=(), summary=None, missing=[*missing, "what was said so far"]
            )
        missing += said.missing
        return packet(self.scope, state, handoff, turns=said.turns, summary=said.summary, missing=missing)

    def _update(self, changes: dict[str, Any]) -> Future[Saved]:
        def update(state: SessionState) -> SessionState:
            return replace(state, environment=state.environment.updated(changes))

        return self._saver.submit(Operation((update,), by_host=True))

    def _notify_listeners(self, before: SessionState, now: SessionState) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener(before, now)
            except Exception:
                # A listener is the caller's code: its error must not stop other listeners, nor the save.
                logger.exception("a listener of the shared state failed")


def _source_of(memory: Memory) -> MemorySource:
    async def given() -> Memory:
        return memory

    return given
