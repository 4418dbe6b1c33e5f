"""The keys of a session in Redis, and of its queued turns.

=========================  ========================================  ============================================
what                       key                                       kind
=========================  ========================================  ============================================
a session                  {<space>:<bucket>}:session:<user>:<id>    hash; see lua/session_cache/session.lua
a state, earlier releases  {<space>:<bucket>}:state:<user>:<id>      hash: version, value; the table has it now
the deadlines of a bucket  {<space>:<bucket>}:deadlines              sorted set of <user>:<id>, by milliseconds
the outbox of a bucket     {<space>:<bucket>}:outbox:<part>          hashes and sorted sets; see lua/outbox/outbox.lua
changes of a state         <space>:state:<user>:<id>                 channel; a message says that it changed
=========================  ========================================  ============================================

One script touches a session, its state, its deadline and its outbox. A cluster allows that only for keys in the same
slot, which the text in braces selects. With the session's own name there, each deadline would lie in a set of its own,
and overdue ones could not be listed; with one name for all, every session would lie on one server. Therefore there are
64 buckets: each session belongs to one, each bucket has its deadlines, and overdue ones are read from 64 sets at once.

The scripts ask the server for its run (INFO), to recognise sessions that were cached before a restart: a user with
limited rights needs ``~{mms* &mms* +info`` besides the usual commands.

Ids are arbitrary text. Each is encoded, so that a colon or a brace never comes from an id.
"""

from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from urllib.parse import quote, unquote

from mcp_memory_server.domain.kernel.scope import Scope, user_and_session

SPACE = "mms"
"""The beginning of every key. A memory adds its own name, so that several can share a Redis."""

BUCKETS = 64
"""Never change this: a session would be looked up in another bucket than the one that it was written to."""

OUTBOX_PARTS = ("queued", "ages", "order", "operations", "ready", "resting", "leases", "failures")


@dataclass(frozen=True)
class BucketKeys:
    """The keys that all sessions of one bucket share, and what the keys of each begin with."""

    tag: str
    deadlines: str
    outbox: tuple[str, ...]


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
    def cached(self) -> tuple[str, ...]:
        """The keys that the scripts of a session touch."""
        return (self.session, self.deadlines, self.state)


def keys_of(scope: Scope, space: str = SPACE) -> SessionKeys:
    """Return the keys of a session, among those of one memory.

    Raises:
        InvalidRequestError: The scope names no session.
    """
    user, session = user_and_session(scope)
    name = f"{quote(user, safe='')}:{quote(session, safe='')}"
    bucket = bucket_keys(bucket_of(name), space)
    return SessionKeys(
        session=f"{bucket.tag}:session:{name}",
        deadlines=bucket.deadlines,
        state=f"{bucket.tag}:state:{name}",
        outbox=bucket.outbox,
        member=name,
        channel=f"{space}:state:{name}",
    )


def sessions_pattern(user_id: str, space: str = SPACE) -> str:
    """Return the pattern of the keys of all sessions of a user. Encoded ids have no character of a pattern."""
    return f"{{{space}:*}}:session:{encoded(user_id)}:*"


def encoded(part: str) -> str:
    """Return an id as it is written in a key or a member."""
    return quote(part, safe="")


def bucket_of(member: str) -> int:
    """Return the bucket that the session of this name belongs to."""
    return sha256(member.encode()).digest()[0] % BUCKETS  # a checksum would leave buckets empty


@cache
def bucket_keys(bucket: int, space: str) -> BucketKeys:
    """Return the keys of a bucket."""
    tag = f"{{{space}:{bucket}}}"
    return BucketKeys(tag, f"{tag}:deadlines", tuple(f"{tag}:outbox:{part}" for part in OUTBOX_PARTS))


def outbox_keys(bucket: int, space: str = SPACE) -> tuple[str, ...]:
    """Return the keys of the outbox of a bucket."""
    return bucket_keys(bucket, space).outbox


def deadlines_key(bucket: int, space: str = SPACE) -> str:
    """Return the key of the deadlines of a bucket."""
    return bucket_keys(bucket, space).deadlines


def ages_key(bucket: int, space: str = SPACE) -> str:
    """Return the key that says since when each turn has been queued in a bucket's outbox."""
    return outbox_keys(bucket, space)[OUTBOX_PARTS.index("ages")]


def scope_of(member: str) -> Scope:
    """Return the session of a member."""
    user, session = member.split(":")
    return Scope(unquote(user), unquote(session))
