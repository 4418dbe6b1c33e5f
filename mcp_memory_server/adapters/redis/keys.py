"""Where a session lies in Redis, and what waits of it for the table.

=========================  ========================================  ============================================
what                       key                                       kind
=========================  ========================================  ============================================
a session                  {<space>:<bucket>}:session:<user>:<id>    hash; see lua/session.lua
the state of a session     {<space>:<bucket>}:state:<user>:<id>      hash: version, value
the deadlines of a bucket  {<space>:<bucket>}:deadlines              sorted set of <user>:<id>, by milliseconds
the outbox of a bucket     {<space>:<bucket>}:outbox:<part>          hashes and sorted sets; see lua/outbox.lua
news about a state         <space>:state:<user>:<id>                 channel; each message is the new version
=========================  ========================================  ============================================

One script touches a session, its state, its deadline and its outbox. A cluster allows that only where the keys lie in
the same slot, and the slot is chosen by what stands in braces. The session's own name there would leave its deadline in
a set of its own, and nobody could ask what is due; one name for all would put every session on one server. So there are
64 buckets: each session belongs to one, each bucket has its deadlines, and what is due is read from 64 sets at once.

The scripts ask the server for its run (INFO), to know whether it is the one that a copy was made in: a user whose
rights are limited needs ``~{mms* &mms* +info`` besides the usual commands.

Ids may hold anything. Each is encoded, so that a colon or a brace never comes from an id.
"""

from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote, unquote

from mcp_memory_server.domain.kernel.scope import Scope, user_and_session

SPACE = "mms"
"""What every key begins with. A memory adds its own name, so that several can share a Redis."""

BUCKETS = 64
"""Never to be changed: a session would be looked for in another bucket than the one that it lies in."""


OUTBOX_PARTS = ("queued", "ages", "order", "operations", "ready", "resting", "leases", "failures")


@dataclass(frozen=True)
class SessionKeys:
    """The keys of one session. All but the channel lie in one slot; ``member`` is the session's name in its bucket."""

    session: str
    deadlines: str
    state: str
    outbox: tuple[str, ...]
    member: str
    channel: str

    @property
    def copy(self) -> tuple[str, ...]:
        """What the scripts of a session touch."""
        return (self.session, self.deadlines, self.state)


def keys_of(scope: Scope, space: str = SPACE) -> SessionKeys:
    """Return where the session lies, among those of one memory.

    Raises:
        InvalidRequestError: The scope names no session.
    """
    name = ":".join(encoded(part) for part in user_and_session(scope))
    bucket = bucket_of(name)
    return SessionKeys(
        session=f"{_tag(bucket, space)}:session:{name}",
        deadlines=deadlines_key(bucket, space),
        state=f"{_tag(bucket, space)}:state:{name}",
        outbox=outbox_keys(bucket, space),
        member=name,
        channel=f"{space}:state:{name}",
    )


def encoded(part: str) -> str:
    """Return an id as it stands in a key or a member."""
    return quote(part, safe="")


def bucket_of(member: str) -> int:
    """Return the bucket that the session of this name belongs to."""
    return sha256(member.encode()).digest()[0] % BUCKETS  # a checksum would leave buckets empty


def outbox_keys(bucket: int, space: str = SPACE) -> tuple[str, ...]:
    """Return where the outbox of a bucket lies."""
    return tuple(f"{_tag(bucket, space)}:outbox:{part}" for part in OUTBOX_PARTS)


def deadlines_key(bucket: int, space: str = SPACE) -> str:
    """Return where the deadlines of a bucket lie."""
    return f"{_tag(bucket, space)}:deadlines"


def ages_key(bucket: int, space: str = SPACE) -> str:
    """Return where it lies how long the turns in a bucket's outbox have been waiting."""
    return f"{_tag(bucket, space)}:outbox:ages"


def scope_of(member: str) -> Scope:
    """Return whose deadline this is."""
    user, session = member.split(":")
    return Scope(unquote(user), unquote(session))


def _tag(bucket: int, space: str) -> str:
    return f"{{{space}:{bucket}}}"
