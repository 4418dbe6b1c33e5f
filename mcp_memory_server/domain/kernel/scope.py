"""The owner of a memory."""

from dataclasses import dataclass

from mcp_memory_server.domain.kernel.items import byte_length
from mcp_memory_server.errors import InvalidRequestError

MAX_ID_BYTES = 128


@dataclass(frozen=True)
class Scope:
    """The owner of a memory. Every read and every write names one."""

    user_id: str
    session_id: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("user_id", self.user_id), ("session_id", self.session_id)):
            if value is not None:
                check_id(name, value)


def user_and_session(scope: Scope) -> tuple[str, str]:
    """Return the ids of the user and of the session.

    Raises:
        InvalidRequestError: The scope names no session.
    """
    if scope.session_id is None:
        raise InvalidRequestError("a session is needed; the scope names none")
    return scope.user_id, scope.session_id


def check_id(name: str, value: str) -> None:
    """Refuse an id that is empty, blank or too long. Any characters are allowed, because keys encode them."""
    length = byte_length(name, value)
    if not value.strip() or length > MAX_ID_BYTES:
        raise InvalidRequestError(f"{name} must be 1 to {MAX_ID_BYTES} bytes long and not blank, got {length} bytes")
