"""Saving the shared state: each change is applied to the newest stored state, or locally while the memory is down."""

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
from agent_plugins.breakers.circuits import BreakerRules
from agent_plugins.breakers.failures import every_error
from agent_plugins.state.background_loop import BACKGROUND
from agent_plugins.state.operations import Operation, Saved
from agent_plugins.state.session_state import SessionState
from mcp_memory_server import ConflictError, Memory, Scope, Status

DEADLINE_SECONDS = 5.0
REST_SECONDS = 1.0
"""How long a memory that did not answer is not asked again, so that no caller waits for it."""
LONGEST_PAUSE_SECONDS = 30.0
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
        self._stored = SessionState()
        self.state = SessionState()
        self.status = Status.UNAVAILABLE
        self.lost_changes = 0
        """How many changes were made while the memory was down, and could not be applied when it came back."""

    @property
    def unsaved(self) -> int:
        """How many changes are not saved yet."""
        return len(self._unsaved)

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
        permit = self._breaker.ask()
        if not permit.allowed:
            self._apply_locally(batch)
            return
        try:
            with permit:
                async with asyncio.timeout(DEADLINE_SECONDS):
                    await self._exchange([*self._unsaved, *batch])
        except Exception as error:  # noqa: BLE001 - whatever fails, agents go on, and every waiting caller gets an answer
            if not self._is_unreachable:  # logged once, not at every attempt
                logger.warning("the shared state of a session cannot be saved for now: %s", type(error).__name__)
            self._is_unreachable = True
            self._apply_locally(batch)

    async def _exchange(self, operations: Sequence[Operation]) -> None:
        states = (await self._memory()).states
        while True:
            stored = await states.read(self._scope)
            newest = SessionState.from_plain(stored.value)
            state = self._applied(newest, operations)
            if state is newest:
                break
            try:
                await states.write(self._scope, state.to_plain(), expected_version=stored.version)
            except ConflictError:
                await asyncio.sleep(random.uniform(0, _LONGEST_YIELD))  # noqa: S311
            else:
                break
        self._saved(newest, state, operations)

    def _applied(self, state: SessionState, operations: Sequence[Operation]) -> SessionState:
        done = set(self._done)
        for operation in operations:
            state = operation.applied_to(state, done)
            if operation.id is not None and operation.error is None:
                done.add(operation.id)  # so that a repetition in the same batch is recognised
        return state

    def _saved(self, newest: SessionState, state: SessionState, operations: Sequence[Operation]) -> None:
        before, known = self.state, self._stored
        self.lost_changes += sum(1 for operation in self._unsaved if operation.error is not None)
        self._unsaved = []
        self._is_unreachable, self._pause = False, REST_SECONDS
        self._stored = self.state = state
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
        for operation in batch:
            if operation.changes and operation.error is None and not operation.repeated:
                self._unsaved.append(operation)
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
            self.submit(Operation(()))
