"""Where a session lies in Redis.

========================  =====================================  =================================================
what                      key                                    kind
========================  =====================================  =================================================
a session                 {mms:<bucket>}:session:<user>:<id>     hash; see lua/session.lua
the state of a session    {mms:<bucket>}:state:<user>:<id>       hash: version, value
the deadlines of a bucket {mms:<bucket>}:deadlines               sorted set of <user>:<id>, by milliseconds
news about a state        mms:state:<user>:<id>                  channel; each message is the new version
========================  =====================================  =================================================

One script touches a session, its state and its deadline. A cluster allows that only where the keys lie in the same
slot, and the slot is chosen by what stands in braces. The session's own name there would leave its deadline in a set of
its own, and nobody could ask what is due; one name for all would put every session on one server. So there are 64
buckets: each session belongs to one, each bucket has its deadlines, and what is due is read from 64 sets at once.

The scripts ask the server for its run (INFO), to know whether it is the one that a copy was made in: a user whose
rights are limited needs ``~{mms:* &mms:* +info`` besides the usual commands.

Ids may hold anything. Each is encoded, so that a colon or a brace never comes from an id.
"""

from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import quote, unquote

from mcp_memory_server.domain.kept_sessions import owner_of
from mcp_memory_server.domain.scope import Scope

BUCKETS = 64
"""Never to be changed: a session would be looked for in another bucket than the one that it lies in."""


@dataclass(frozen=True)
class SessionKeys:
    """The keys of one session. The first three lie in one slot."""

    session: str
    deadlines: str
    state: str
    member: str
    channel: str


def keys_of(scope: Scope) -> SessionKeys:
    """Return where the session lies.

    Raises:
        InvalidRequestError: The scope names no session.
    """
    name = ":".join(quote(part, safe="") for part in owner_of(scope))
    bucket = sha256(name.encode()).digest()[0] % BUCKETS  # a checksum would leave buckets empty
    return SessionKeys(
        session=f"{_tag(bucket)}:session:{name}",
        deadlines=deadlines_key(bucket),
        state=f"{_tag(bucket)}:state:{name}",
        member=name,
        channel=f"mms:state:{name}",
    )


def deadlines_key(bucket: int) -> str:
    """Return where the deadlines of a bucket lie."""
    return f"{_tag(bucket)}:deadlines"


def scope_of(member: str) -> Scope:
    """Return whose deadline this is."""
    user, session = member.split(":")
    return Scope(unquote(user), unquote(session))


def _tag(bucket: int) -> str:
    return f"{{mms:{bucket}}}"
