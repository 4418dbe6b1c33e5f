"""Turns that are held until a guardrail of the model may have redacted them.

A guardrail redacts a message after it was added to the history: when the model has answered. Turns that follow a held
one wait behind it, so that they are saved in the order in which they were said.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from mcp_memory_server import NewTurn

Save = Callable[[NewTurn, str], None]


@dataclass(eq=False)
class _Held:
    make: Callable[[], NewTurn | None]
    operation_id: str
    until: object | None


class HeldTurns:
    """Saves the turns of one invocation in order. ``save`` gets a turn and its operation id."""

    def __init__(self, save: Save) -> None:
        self._save = save
        self._held: deque[_Held] = deque()
        self.saved = 0
        """How many turns were saved."""

    def add(self, make: Callable[[], NewTurn | None], operation_id: str, *, until: object | None = None) -> None:
        """Save a turn after those that are held; or hold it until this is released, and make it only then."""
        self._held.append(_Held(make, operation_id, until))
        self._save_released()

    def replace(self, operation_id: str, turn: NewTurn) -> None:
        """Save this instead of what is held under that operation id."""
        for held in self._held:
            if held.operation_id == operation_id:
                held.make = lambda: turn

    def release(self, until: object) -> None:
        """Save what was held until this happened."""
        for held in self._held:
            if held.until is until:
                held.until = None
        self._save_released()

    def release_all(self) -> None:
        """Save everything."""
        for held in self._held:
            held.until = None
        self._save_released()

    def _save_released(self) -> None:
        while self._held and self._held[0].until is None:
            held = self._held.popleft()
            turn = held.make()
            if turn is not None:
                self.saved += 1
                self._save(turn, held.operation_id)


def has_guardrail(model: object) -> bool:
    """Return whether a model may redact messages that it was sent."""
    config = getattr(model, "config", None) or getattr(model, "get_config", dict)()
    return isinstance(config, dict) and bool(config.get("guardrail_id"))
