"""Scopes: whose memory a call reads and writes.

An owner is the unit of storage: it has a partition, a version and a search index of its own. A scope names the user,
the owner that new facts go to, and the further owners that are read. Hosts make scopes; nothing a model writes is part
of one.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

from mcp_memory_server.domain.kernel.items import byte_length
from mcp_memory_server.errors import InvalidRequestError

MAX_ID_BYTES = 128
MOST_OWNERS = 8
"""Each owner costs a read of its version and a search in every recall."""


class OwnerKind(StrEnum):
    """What a memory belongs to."""

    USER = "user"
    AGENT = "agent"
    PROJECT = "project"
    TEAM = "team"
    SHARED = "shared"


@dataclass(frozen=True)
class Owner:
    """What a memory belongs to, made by one of the functions below.

    An agent and a project belong to one user: those of two users with the same name are two owners.
    """

    kind: OwnerKind
    name: str
    user_id: str | None = None

    def __post_init__(self) -> None:
        check_id("user_id" if self.kind is OwnerKind.USER else f"the name of the {self.kind}", self.name)
        needs_user = self.kind in (OwnerKind.AGENT, OwnerKind.PROJECT)
        if needs_user != (self.user_id is not None):
            wrong = "needs the user_id of its user" if needs_user else "takes no user_id"
            raise InvalidRequestError(f"the {self.kind} {self.name!r} {wrong}")
        if self.user_id is not None:
            check_id("user_id", self.user_id)

    @classmethod
    def user(cls, user_id: str) -> "Owner":
        """Return the user."""
        return cls(OwnerKind.USER, user_id)

    @classmethod
    def agent(cls, user_id: str, name: str) -> "Owner":
        """Return one agent of the user."""
        return cls(OwnerKind.AGENT, name, user_id)

    @classmethod
    def project(cls, user_id: str, name: str) -> "Owner":
        """Return one project of the user, for example a repository."""
        return cls(OwnerKind.PROJECT, name, user_id)

    @classmethod
    def team(cls, name: str) -> "Owner":
        """Return a team. Everybody whose host names it uses the same memory."""
        return cls(OwnerKind.TEAM, name)

    @classmethod
    def shared(cls, name: str) -> "Owner":
        """Return shared knowledge. Everybody whose host names it reads it; only a scope of its own changes it."""
        return cls(OwnerKind.SHARED, name)

    @property
    def private_to(self) -> str | None:
        """The user to whom alone it belongs; None for a team and for shared knowledge."""
        return self.name if self.kind is OwnerKind.USER else self.user_id

    @property
    def label(self) -> str:
        """How people name it, for example ``team:acme``."""
        return f"{self.kind}:{self.name}"


@dataclass(frozen=True)
class Scope:
    """The owner of a memory. Every read and every write names one.

    By default it is the user. Facts are written to ``remember_in`` instead, if that is given, and are looked for in
    ``reads`` too. Sessions, summaries and preferences always belong to the user.
    """

    user_id: str
    session_id: str | None = None
    remember_in: Owner | None = None
    reads: tuple[Owner, ...] = ()

    def __post_init__(self) -> None:
        for name, value in (("user_id", self.user_id), ("session_id", self.session_id)):
            if value is not None:
                check_id(name, value)
        if self.remember_in is None and not self.reads:
            return
        if self.remember_in == Owner.user(self.user_id):
            object.__setattr__(self, "remember_in", None)
        others = tuple(one for one in dict.fromkeys(self.reads) if one != self.owner)
        object.__setattr__(self, "reads", others)
        for owner in self.readable:
            if owner.private_to not in (None, self.user_id):
                raise InvalidRequestError(f"a scope of one user cannot name the {owner.kind} of another user")
        if len(self.readable) > MOST_OWNERS:
            raise InvalidRequestError(f"a scope may name {MOST_OWNERS} owners, got {len(self.readable)}")

    @property
    def owner(self) -> Owner:
        """The owner of new facts."""
        return self.remember_in or Owner.user(self.user_id)

    @property
    def readable(self) -> tuple[Owner, ...]:
        """Every owner whose memories are read."""
        return (self.owner, *self.reads)

    @property
    def parts(self) -> "tuple[Scope, ...]":
        """One scope for each of these owners, with its memory alone."""
        return tuple(map(self.only, self.readable)) if self.reads else (self,)

    @property
    def writable(self) -> tuple[Owner, ...]:
        """The owners whose memories may be corrected and forgotten: of new facts, and what is the user's own."""
        return tuple(one for one in self.readable if one == self.owner or one.private_to == self.user_id)

    @property
    def personal(self) -> "Scope":
        """The same user and session, with the memory of the user alone."""
        return self if self.remember_in is None and not self.reads else Scope(self.user_id, self.session_id)

    def only(self, owner: Owner) -> "Scope":
        """Return the same user and session, with the memory of this owner alone."""
        return Scope(self.user_id, self.session_id, owner)

    def in_session(self, session_id: str | None) -> "Scope":
        """Return the same owners, with another session or with none."""
        return replace(self, session_id=session_id)


@dataclass(frozen=True)
class Owners:
    """The memories that a host uses beside the user's own, and the one to which new facts go.

    By default facts go to the ``agent`` if there is one, else to the ``project``, else to the user. They go to a
    ``team``, where others read them, only if ``new_facts`` says so. ``shared`` knowledge is only read.
    """

    agent: str | None = None
    project: str | None = None
    team: str | None = None
    shared: tuple[str, ...] = ()
    new_facts: OwnerKind | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "shared", (self.shared,) if isinstance(self.shared, str) else tuple(self.shared))
        if self.new_facts is not None:
            object.__setattr__(self, "new_facts", _kind(self.new_facts))
        self.scope("checked")

    def scope(self, user_id: str, session_id: str | None = None) -> Scope:
        """Return the scope of this user.

        Raises:
            InvalidRequestError: A name cannot be one, or new facts go to an owner that is not named.
        """
        named = {
            OwnerKind.AGENT: None if self.agent is None else Owner.agent(user_id, self.agent),
            OwnerKind.PROJECT: None if self.project is None else Owner.project(user_id, self.project),
            OwnerKind.USER: Owner.user(user_id),
            OwnerKind.TEAM: None if self.team is None else Owner.team(self.team),
        }
        used = {kind: owner for kind, owner in named.items() if owner is not None}
        kind = self.new_facts or next(iter(used))
        if kind not in used:
            raise InvalidRequestError(f"new facts go to {', '.join(used)}, got {kind.value!r}, which is not named")
        return Scope(user_id, session_id, used[kind], (*used.values(), *map(Owner.shared, self.shared)))


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


def _kind(name: str) -> OwnerKind:
    try:
        return OwnerKind(name)
    except ValueError:
        known = ", ".join(kind for kind in OwnerKind if kind is not OwnerKind.SHARED)
        raise InvalidRequestError(f"new_facts must be one of {known}, got {name!r}") from None
