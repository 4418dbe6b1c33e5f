"""Ids of failed calls: a person reads one in the reply, an operator finds it in the log.

A log line names the user by a hash. It never holds an argument, a memory or the text of an unexpected exception.
"""

import hashlib
import logging
import secrets
import traceback

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import MemoryServerError

HASH_LETTERS = 12
CALL_ID_BYTES = 4

logger = logging.getLogger(__name__)


def hashed(name: str) -> str:
    """Return a name as log lines show it: the same for the same name, and not readable."""
    return hashlib.sha256(name.encode()).hexdigest()[:HASH_LETTERS]


def log_failure(what: str, scope: Scope | None, error: MemoryServerError) -> str:
    """Log a call that the memory could not answer, and return the id of the call."""
    call_id = new_call_id()
    # The messages of our own errors are safe to show; those of others are not.
    logger.warning("%s failed (call %s, %s): %s: %s", what, call_id, _owner(scope), type(error).__name__, error)
    return call_id


def log_bug(what: str, scope: Scope | None, error: Exception) -> str:
    """Log an unexpected exception by its type and its place in the code, and return the id of the call."""
    call_id = new_call_id()
    frames = "".join(traceback.format_tb(error.__traceback__))
    # Without the exception's text, which may quote a memory or a secret.
    logger.error("%s failed (call %s, %s): %s\n%s", what, call_id, _owner(scope), type(error).__name__, frames)
    return call_id


def new_call_id() -> str:
    """Return an id that is short enough to be read aloud."""
    return secrets.token_hex(CALL_ID_BYTES)


def _owner(scope: Scope | None) -> str:
    return "no user" if scope is None else f"user {hashed(scope.user_id)}"
