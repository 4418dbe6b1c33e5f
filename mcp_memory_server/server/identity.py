"""The owner of a request. It is never taken from anything that a model wrote."""

from collections.abc import Callable

from mcp.server.auth.middleware.auth_context import get_access_token

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError

Identify = Callable[[], Scope]


def always(scope: Scope) -> Identify:
    """Return the identity for a server with one user, named by the operator's settings."""
    return lambda: scope


def from_verified_token() -> Scope:
    """Return the subject of the token that the verifier accepted for this request.

    Raises:
        InvalidRequestError: The request has no verified token, or the token has no subject.
    """
    token = get_access_token()
    if token is None or not token.subject:
        raise InvalidRequestError("the request carries no verified token with a subject, so it owns no memory")
    return Scope(token.subject)
