"""How log lines name a user or a session: by hashes, so that one can be followed and none is named."""

from hashlib import sha256

from mcp_memory_server.domain.kernel.scope import Scope

HASH_LENGTH = 10


def log_label(scope: Scope) -> str:
    """Return the hashed user, and the hashed session if the scope has one."""
    user = f"user={_hashed(scope.user_id)}"
    return user if scope.session_id is None else f"{user} session={_hashed(scope.session_id)}"


def _hashed(name: str) -> str:
    return sha256(name.encode(errors="surrogatepass")).hexdigest()[:HASH_LENGTH]
