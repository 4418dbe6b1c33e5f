"""Who sent a request, and what they may do.

1. An owner is an issuer and a subject: equal subjects of two issuers never share a memory. A token of this server's own
   (in its file, or of this machine) names a user as the settings do.
2. Who may act for others (``memory:act-for``) names the user in every request, within their own issuer. Without a name
   the request is refused: the users of an orchestrator never meet in its own memory.
3. A permission that is not granted is refused, and so is a request without a verified token.
"""

import hashlib
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mcp_memory_server.domain.kernel.log_labels import acted_by
from mcp_memory_server.domain.kernel.scope import MAX_ID_BYTES, Scope
from mcp_memory_server.errors import InvalidRequestError, NotPermittedError

USER_KEY = "io.github.mcp-agent-memory/user"
"""The entry of a request's ``_meta`` in which an orchestrator names the user."""

SEPARATOR = "|"
"""Between issuer and subject in the id of an owner. The address of an issuer cannot contain it."""


class Permission(StrEnum):
    """What a token may do; OAuth calls it a scope."""

    READ = "memory:read"
    WRITE = "memory:write"
    FORGET = "memory:forget"
    OPERATE = "memory:operate"
    ACT_FOR = "memory:act-for"


OWN_MEMORY = frozenset({Permission.READ, Permission.WRITE, Permission.FORGET})


@dataclass(frozen=True)
class Principal:
    """The holder of a verified token. Without an issuer the token is one of this server's own."""

    subject: str
    permissions: frozenset[Permission]
    issuer: str | None = None

    def missing(self, needed: Iterable[Permission], meta: Mapping[str, Any]) -> list[Permission]:
        """Return what a request needs and this principal may not do."""
        acting = [Permission.ACT_FOR] if USER_KEY in meta else []
        return [one for one in (*needed, *acting) if one not in self.permissions]

    def owner(self, meta: Mapping[str, Any]) -> Scope:
        """Return whose memory the request is about.

        Raises:
            NotPermittedError: It names a user, and the token does not allow that.
            InvalidRequestError: It has to name a user, and does not.
        """
        named = meta.get(USER_KEY)
        if Permission.ACT_FOR not in self.permissions:
            if USER_KEY in meta:
                raise NotPermittedError(f"the token does not permit {Permission.ACT_FOR}")
            return Scope(owner_id(self.issuer, self.subject))
        if not isinstance(named, str) or not named.strip():
            raise InvalidRequestError(f"this token acts for others: name the user in _meta, as {USER_KEY!r}")
        return Scope(owner_id(self.issuer, named))

    def counted_as(self, meta: Mapping[str, Any]) -> str:
        """Return the user for whom limits count the request: the one it is about, if it names one."""
        named = meta.get(USER_KEY) if Permission.ACT_FOR in self.permissions else None
        return owner_id(self.issuer, named if isinstance(named, str) else self.subject)


def owner_id(issuer: str | None, subject: str) -> str:
    """Return the id under which the memory of a subject is kept."""
    if issuer is None:
        return subject
    readable = f"{issuer}{SEPARATOR}{subject}"
    if len(readable.encode("utf-8", "surrogatepass")) <= MAX_ID_BYTES:
        return readable
    return f"sha256{SEPARATOR}{hashlib.sha256(readable.encode('utf-8', 'surrogatepass')).hexdigest()}"


def granted(text: str) -> frozenset[Permission]:
    """Return the permissions in a list separated by spaces. Others, of other resources, mean nothing here."""
    names = set(text.split())
    return frozenset(one for one in Permission if one.value in names)


_current: ContextVar[Principal | None] = ContextVar("principal", default=None)


def current_principal() -> Principal:
    """Return who sent the current request.

    Raises:
        NotPermittedError: It has no verified token.
    """
    principal = _current.get()
    if principal is None:
        raise NotPermittedError("the request carries no verified token, so it owns no memory")
    return principal


@contextmanager
def acting_as(principal: Principal) -> Generator[None]:
    """Handle a request of this principal."""
    reset = _current.set(principal)
    try:
        with acted_by(owner_id(principal.issuer, principal.subject)):
            yield
    finally:
        _current.reset(reset)
