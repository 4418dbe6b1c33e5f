"""The owner of a request. It is never taken from anything that a model wrote."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp_memory_server.domain.kernel.scope import Owners, Scope
from mcp_memory_server.errors import NotPermittedError
from mcp_memory_server.server.access.principal import Permission, current_principal


@dataclass(frozen=True)
class Asked:
    """What decides whose memory a request may use: what it needs, and its ``_meta``, which the host program writes."""

    needs: Collection[Permission] = ()
    meta: Mapping[str, Any] = field(default_factory=dict[str, Any])


Identify = Callable[[Asked], Scope]


def always(scope: Scope) -> Identify:
    """Return the identity for a server with one user, named by the operator's settings."""
    return lambda _asked: scope


def with_owners(identify: Identify, owners: Owners) -> Identify:
    """Return the identity with the memories that the operator lets every user use beside their own."""
    return lambda asked: owners.scope(identify(asked).user_id)


def from_verified_token(asked: Asked) -> Scope:
    """Return the owner of the memory that the token of this request permits to use.

    Raises:
        NotPermittedError: The request has no verified token, or the token does not permit what it needs.
        InvalidRequestError: It names no user, or one that cannot be.
    """
    principal = current_principal()
    if missing := principal.missing(asked.needs, asked.meta):
        raise NotPermittedError(f"the token does not permit {' and '.join(missing)}")
    return principal.owner(asked.meta)
