"""Operations on the state that agents share: changes that happen together, recognised when they are repeated."""

import json
from collections.abc import Container, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from agent_plugins.state.session_state import Change, SessionState
from mcp_memory_server import InvalidRequestError, Status


@dataclass(frozen=True)
class Saved:
    """What a change came to. ``complete``: it is in the session memory. ``unavailable``: it is only here, for now.

    ``repeated`` says that the operation had been applied before, and nothing was changed.
    """

    state: SessionState
    status: Status
    repeated: bool = False


@dataclass
class Operation:
    """Changes that happen together, or not at all. Without any it is a look at the newest state.

    ``id`` is the caller's, who may repeat it. ``writer`` and ``number`` are ours: they recognise an operation whose
    write was not answered.
    """

    changes: Sequence[Change]
    id: str | None = None
    by_host: bool = False
    writer: str = ""
    number: int = 0
    future: Future[Saved] = field(default_factory=lambda: Future[Saved]())
    error: Exception | None = None
    repeated: bool = False

    def applied_to(self, state: SessionState, done: Container[str]) -> SessionState:
        """Return the state after this. What cannot be applied leaves it as it is, with the reason in ``error``.

        ``done`` are ids of callers that are known to have been applied.
        """
        self.error, self.repeated = None, bool(self.changes) and self._was_applied_to(state, done)
        if self.repeated or not self.changes:
            return state
        try:
            changed = self._changed(state).written_by(self.writer, self.number)
        except Exception as error:  # noqa: BLE001 - a change is somebody else's code; its error is told to them alone
            self.error = error
            return state
        return changed if self.id is None else changed.having_seen(self.id)

    def settle(self, state: SessionState, status: Status) -> None:
        """Tell whoever waits, once: a change that is kept here is not told again when it is saved."""
        if self.future.done() or not self.future.set_running_or_notify_cancel():
            return
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            self.future.set_result(Saved(state, status, self.repeated))

    def _was_applied_to(self, state: SessionState, done: Container[str]) -> bool:
        is_known = self.id is not None and (self.id in done or state.has_seen(self.id))
        return is_known or state.last_of(self.writer) >= self.number

    def _changed(self, state: SessionState) -> SessionState:
        changed = state
        for change in self.changes:
            changed = change(changed)
        if not self.by_host and changed.environment != state.environment:
            raise InvalidRequestError("agents cannot change the environment; the host does, with update_environment")
        try:
            json.dumps(changed.to_plain(), allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidRequestError(f"what agents share must be plain data: {error}") from None
        return changed
