"""A turn that is to be written to a session."""

from dataclasses import dataclass, replace

from mcp_memory_server.domain.kernel.item_checks import check_operation_id
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import Turn
from mcp_memory_server.errors import InvalidRequestError


@dataclass(frozen=True)
class TurnWrite:
    """A turn, the session that it is added to, and the operation that adds it: checked here, trusted by every store."""

    scope: Scope
    turn: Turn
    operation_id: str

    def __post_init__(self) -> None:
        if self.scope.session_id is None:
            raise InvalidRequestError("a conversation needs a session_id")
        check_operation_id(self.operation_id)

    def with_id(self, turn_id: str) -> "TurnWrite":
        """Return the same turn under another id."""
        if turn_id == self.turn.id:
            return self
        return replace(self, turn=replace(self.turn, id=turn_id))
