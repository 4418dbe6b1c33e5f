"""The tombstone of an erased user: what was queued or said before it is not written again.

=============  =================  ======  ============================================
what           pk                 sk      lives
=============  =================  ======  ============================================
erased user    ERASED#<digest>    ERASED  100 days: longer than a turn or a dead letter
=============  =================  ======  ============================================

The digest is that of the user's id, which is nowhere in the item.
"""

import hashlib
from datetime import UTC, datetime, timedelta

from mcp_memory_server.domain.kernel.items import Item, Key, Put
from mcp_memory_server.schema.keys import timestamp

LIFE = timedelta(days=100)
SKEW = timedelta(minutes=1)
"""The clocks of two processes may differ by so much."""

_AT = "at"


def erased_user_key(user_id: str) -> Key:
    """Return the key of the tombstone of a user."""
    return Key(f"ERASED#{hashlib.sha256(f'erased user {user_id}'.encode()).hexdigest()[:32]}", "ERASED")


def erased_user_put(user_id: str, now: datetime) -> Put:
    """Return the write that says that the user was erased now."""
    return Put(erased_user_key(user_id), {_AT: timestamp(now)}, expires_at=(now + LIFE).replace(microsecond=0))


def erased_before(tombstone: Item | None) -> datetime:
    """Return the moment up to which everything of the user is erased; the beginning of time if nothing is."""
    at = None if tombstone is None else tombstone.body.get(_AT)
    return datetime.fromisoformat(at) + SKEW if isinstance(at, str) else datetime.min.replace(tzinfo=UTC)
