"""How log lines name a user or a session: by hashes, so that one can be followed and none is named."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from hashlib import sha256

from mcp_memory_server.domain.kernel.scope import Scope

HASH_LENGTH = 10
THE_PROCESS = "process"
"""Who acts where no request does: background work, a command, or the host program itself."""

_actor: ContextVar[str] = ContextVar("actor", default=THE_PROCESS)


def log_label(scope: Scope) -> str:
    """Return the hashed user, and the hashed session if the scope has one."""
    user = f"user={hashed_name(scope.user_id)}"
    return user if scope.session_id is None else f"{user} session={hashed_name(scope.session_id)}"


def hashed_name(name: str) -> str:
    """Return a name as log lines show it: the same for the same name, and not readable."""
    return sha256(name.encode(errors="surrogatepass")).hexdigest()[:HASH_LENGTH]


def current_actor() -> str:
    """Return who acts here and now, hashed."""
    return _actor.get()


@contextmanager
def acted_by(name: str) -> Generator[None]:
    """Name who acts: the holder of a token, who may act for another user."""
    reset = _actor.set(hashed_name(name))
    try:
        yield
    finally:
        _actor.reset(reset)
