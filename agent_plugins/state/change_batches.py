"""Operations on the shared state: changes that are applied together, and recognised when they are repeated."""

import json
from collections.abc import Container, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from agent_plugins.state.phases import with_phase
from agent_plugins.state.session_state import Change, SessionState
from mcp_memory_server import InvalidRequestError, Status


@dataclass(frozen=True)
class Saved:
    """The result of a change. ``complete``: the store has it. ``unavailable``: only this process has it yet.

    ``repeated`` says that the operation had been applied before, so nothing was changed.
    """

    state: SessionState
    status: Status
    repeated: bool = False


@dataclass
class Operation:
    """Changes that are applied together, or not at all. Without changes it only reads the newest state.

    ``id`` comes from the caller, who may repeat the operation. ``writer`` and ``number`` are set by `StateSaver`, to
    recognise an operation whose write got no reply. One that ``may_wait`` is applied locally, and saved with the next
    that may not; ``saves_all`` is set on one that saves whatever waits.
    """

    changes: Sequence[Change]
    id: str | None = None
    by_host: bool = False
    may_wait: bool = False
    saves_all: bool = False
    writer: str = ""
    number: int = 0
    future: Future[Saved] = field(default_factory=lambda: Future[Saved]())
    error: Exception | None = None
    repeated: bool = False

    @property
    def must_be_saved(self) -> bool:
        """Whether a caller waits until the store has it."""
        return self.saves_all or (bool(self.changes) and not self.may_wait)

    def applied_to(self, state: SessionState, done: Container[str]) -> SessionState:
        """Return the state after this operation. If it fails, the state is unchanged and the reason is in ``error``.

        ``done`` are the ids of operations that have been applied.
        """
        self.error, self.repeated = None, bool(self.changes) and self._was_applied(state, done)
        if self.repeated or not self.changes:
            return state
        try:
            changed = self._apply_changes(state).written_by(self.writer, self.number)
        except Exception as error:  # noqa: BLE001 - a change is the caller's code; only its caller gets the error
            self.error = error
            return state
        return changed if self.id is None else changed.with_applied(self.id)

    def settle(self, state: SessionState, status: Status) -> None:
        """Resolve the future, once: not again when a change that was applied locally is saved later."""
        if self.future.done() or not self.future.set_running_or_notify_cancel():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(Saved(state, status, self.repeated))

    def _was_applied(self, state: SessionState, done: Container[str]) -> bool:
        is_known = self.id is not None and (self.id in done or state.has_applied(self.id))
        return is_known or state.last_number_of(self.writer) >= self.number

    def _apply_changes(self, state: SessionState) -> SessionState:
        changed = state
        for change in self.changes:
            changed = with_phase(changed, change(changed))
        if not self.by_host and changed.environment != state.environment:
            raise InvalidRequestError("agents cannot change the environment; the host does, with update_environment")
        try:
            json.dumps(changed.to_plain(), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidRequestError(f"what agents share must be plain data: {error}") from None
        return changed
