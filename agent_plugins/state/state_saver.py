"""Saving the shared state: each change is applied to the newest stored state, or locally while the memory is down.

1. A change is ``complete`` when the table has it, in a state that follows from every state read before.
2. A stored state is older than the local one if it has the same origin and a lower version, as after a restore from a
   backup. It never replaces the local one: that is written again, as its next version.
3. A state that is gone was erased or has expired, and is gone here too.
4. Changes that may wait are written with the next change that may not, at the latest after `MAY_WAIT_SECONDS`.
"""

import asyncio
import logging
import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from threading import Lock
from typing import TypeAlias
from uuid import uuid4

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules
from agent_plugins.breakers.failures import every_error
from agent_plugins.state.background_loop import BACKGROUND
from agent_plugins.state.change_batches import Operation, Saved
from agent_plugins.state.session_state import SessionState
from mcp_memory_server import ConflictError, Memory, Scope, Status

DEADLINE_SECONDS = 5.0
REST_SECONDS = 1.0
"""How long a memory that did not answer is not asked again, so that no caller waits for it."""
LONGEST_PAUSE_SECONDS = 30.0
MAY_WAIT_SECONDS = 2.0
"""So long a change that may wait is not in the store: a turn with many tool calls is one write, not one per step."""
"""Unsaved changes are retried after pauses that double up to this one."""
MOST_UNSAVED = MAX_REMEMBERED_IDS = 1000
_LONGEST_YIELD = 0.02

MemorySource: TypeAlias = Callable[[], Awaitable[Memory]]

logger = logging.getLogger(__name__)


class StateSaver:
    """The state of one session as this process knows it, and the only way to change it. Safe to use from any thread.

    Operations that are submitted at the same time are written together. Cancelling a caller does not stop a write.
    While the memory does not answer, changes are applied to the local state and queued; when it answers again, they
    are applied to the state that is stored then.
    """

    def __init__(
        self,
        memory: MemorySource,
        scope: Scope,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        on_external_change: Callable[[SessionState, SessionState], None] = lambda _before, _now: None,
    ) -> None:
        self._memory = memory
        self._scope = scope
        self._on_external_change = on_external_change
        self._breaker = CircuitBreaker(
            "shared state",
            BreakerRules(1, REST_SECONDS, 2 * DEADLINE_SECONDS, is_failure=every_error),
            monotonic=monotonic,
        )
        self._lock = Lock()
        self._writer = uuid4().hex[:12]
        self._numbers = 0
        self._done: OrderedDict[str, None] = OrderedDict()
        self._queue: list[Operation] = []
        self._is_draining = False
        self._is_unreachable = False
        self._is_stopped = False
        self._pause = REST_SECONDS
        self._timer: asyncio.TimerHandle | None = None
        self._unsaved: list[Operation] = []
        self._waiting: list[Operation] = []
        self._stored = SessionState()
        self._version = 0
        self.state = SessionState()
        self.status = Status.UNAVAILABLE
        self.lost_changes = 0
        """How many changes were made while the memory was down, and could not be applied when it came back."""

    @property
    def unsaved(self) -> int:
        """How many changes are not saved yet."""
        with self._lock:
            queued = sum(1 for operation in self._queue if operation.changes)
        return len(self._unsaved) + len(self._waiting) + queued

    @property
    def is_busy(self) -> bool:
        """Whether operations are being applied, so that ``state`` does not show them yet."""
        return self._is_draining

    def submit(self, operation: Operation) -> Future[Saved]:
        """Queue the operation; its future has the result."""
        with self._lock:
            self._numbers += 1
            operation.writer, operation.number = self._writer, self._numbers
            self._queue.append(operation)
            begins, self._is_draining = not self._is_draining, True
        if begins:
            BACKGROUND.submit(self._drain())
        return operation.future

    def stop(self) -> None:
        """Stop retrying unsaved changes."""
        self._is_stopped = True

    async def _drain(self) -> None:
        while True:
            with self._lock:
                batch, self._queue = self._queue, []
                if not batch:
                    self._is_draining = False
                    return
            await self._save(batch)

    async def _save(self, batch: Sequence[Operation]) -> None:
        if all(operation.may_wait for operation in batch):
            self._let_wait(batch)
            return
        permit = self._breaker.ask()
        if not permit.allowed:
            self._apply_locally(batch)
            return
        try:
            with permit:
                async with asyncio.timeout(DEADLINE_SECONDS):
                    await self._exchange([*self._unsaved, *self._waiting, *batch])
        except Exception as error:  # noqa: BLE001 - whatever fails, agents go on, and every waiting caller gets an answer
            if not self._is_unreachable:  # logged once, not at every attempt
                logger.warning("the shared state of a session cannot be saved for now: %s", type(error).__name__)
            self._is_unreachable = True
            self._apply_locally(batch)

    async def _exchange(self, operations: Sequence[Operation]) -> None:
        memory = await self._memory()
        states = memory.states
        if await self._written_over_last_read(memory, operations):
            return
        while True:
            stored = await states.read(self._scope)
            found = SessionState.from_plain(stored.value)
            newest = self._stored if self._is_older(found, stored.version) else found
            state, version = self._applied(newest, operations), stored.version
            if state is found or (newest is found and not any(one.must_be_saved for one in operations)):
                break
            try:
                version = await states.write(self._scope, state.to_plain(), expected_version=stored.version)
            except ConflictError:
                await asyncio.sleep(random.uniform(0, _LONGEST_YIELD))  # noqa: S311
            else:
                break
        self._saved(newest, state, version, operations)

    async def _written_over_last_read(self, memory: Memory, operations: Sequence[Operation]) -> bool:
        """Write over the state that was read last, without reading it again; return False if that cannot be done.

        The write is refused if another state is stored now. What cannot be applied may be due to an older state.
        """
        if self.status is not Status.COMPLETE or not any(one.must_be_saved for one in operations):
            return False
        state = self._applied(self._stored, operations)
        if state is self._stored or any(one.error is not None or one.repeated for one in operations):
            return False
        try:
            version = await memory.states.write(self._scope, state.to_plain(), expected_version=self._version)
        except ConflictError:
            return False
        self._saved(self._stored, state, version, operations)
        return True

    def _is_older(self, found: SessionState, version: int) -> bool:
        return 0 < version < self._version and found.origin == self._stored.origin

    def _let_wait(self, batch: Sequence[Operation]) -> None:
        self.state = self._applied(self.state, batch)
        self._wait_with([*self._waiting, *batch])
        for operation in batch:
            operation.settle(self.state, Status.UNAVAILABLE)

    def _wait_with(self, operations: Sequence[Operation]) -> None:
        begins = not self._waiting
        self._waiting = [one for one in operations if one.changes and one.error is None and not one.repeated]
        if begins and self._waiting:
            asyncio.get_running_loop().call_later(MAY_WAIT_SECONDS, self._save_waiting)

    def _save_waiting(self) -> None:
        if self._waiting and not self._is_stopped:
            self.submit(Operation((), saves_all=True))

    def _applied(self, state: SessionState, operations: Sequence[Operation]) -> SessionState:
        done = set(self._done)
        for operation in operations:
            state = operation.applied_to(state, done)
            if operation.id is not None and operation.error is None:
                done.add(operation.id)  # so that a repetition in the same batch is recognised
        return state

    def _saved(self, newest: SessionState, state: SessionState, version: int, operations: Sequence[Operation]) -> None:
        before, known = self.state, self._stored
        self.lost_changes += sum(1 for operation in self._unsaved if operation.error is not None)
        self._unsaved = []
        is_saved = any(operation.must_be_saved for operation in operations)
        self._wait_with([] if is_saved else operations)
        self._is_unreachable, self._pause = False, REST_SECONDS
        self._stored, self._version = (state if is_saved else newest), version
        self.state = state
        self.status = Status.PARTIAL if self.lost_changes else Status.COMPLETE
        if newest != known:
            self._on_external_change(before, state)
        for operation in operations:
            self._remember_id(operation)
            operation.settle(state, Status.COMPLETE)

    def _remember_id(self, operation: Operation) -> None:
        if operation.id is not None and operation.error is None:
            self._done[operation.id] = None
            while len(self._done) > MAX_REMEMBERED_IDS:
                self._done.popitem(last=False)

    def _apply_locally(self, batch: Sequence[Operation]) -> None:
        self.state = self._applied(self.state, batch)
        for operation in self._waiting:
            operation.may_wait = False
        new = [one for one in batch if one.changes and one.error is None and not one.repeated]
        self._unsaved += [*self._waiting, *new]
        self._waiting = []
        too_many = max(len(self._unsaved) - MOST_UNSAVED, 0)
        del self._unsaved[:too_many]
        self.lost_changes += too_many
        self.status = Status.UNAVAILABLE
        for operation in batch:
            operation.settle(self.state, Status.UNAVAILABLE)
        if self._unsaved and self._timer is None and not self._is_stopped:
            self._timer = asyncio.get_running_loop().call_later(self._pause, self._try_again)
            self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)

    def _try_again(self) -> None:
        self._timer = None
        if self._unsaved and not self._is_stopped:
            self.submit(Operation((), saves_all=True))
