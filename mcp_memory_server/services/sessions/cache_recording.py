"""Record stored turns in the session cache, for those that reached the table late or without it."""

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import CacheContext
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.errors import CacheUnavailableError, UnavailableError
from mcp_memory_server.services.sessions.cache_epoch import EpochSnapshot
from mcp_memory_server.services.sessions.session_stores import SessionStores

RECENT = 25
"""How many of the last turns are searched for the operation id of a turn that may be a repetition."""

_NEVER = EpochSnapshot(0, {}, float("-inf"))


async def record_in_cache(
    stores: SessionStores, write: TurnWrite, tier: Tier = Tier.STANDARD, *, counted_in: str = ""
) -> bool:
    """Record a turn of the table in the cache; return whether no cached session that may be used lacks it.

    ``counted_in`` is the token of the cached session that counted the turn, if it is known.
    """
    epoch = stores.cache_epoch
    if stores.cache is None or epoch.may_bypass_cache():
        return True
    if epoch.is_disconnected:
        return False
    context = CacheContext(tier, stores.limits, stores.now(), (await snapshot_or_last(stores)).epoch)
    try:
        await stores.cache.record_stored(write, context, counted_in=counted_in)
    except CacheUnavailableError:
        epoch.disconnect()
        return False
    return True


async def drop_from_cache(stores: SessionStores, scope: Scope) -> bool:
    """Drop the cached session; return whether no cached session that may be used is left."""
    epoch = stores.cache_epoch
    if stores.cache is None or epoch.may_bypass_cache():
        return True
    if epoch.is_disconnected:
        return False
    try:
        await stores.cache.drop(scope)
    except CacheUnavailableError:
        epoch.disconnect()
        return False
    return True


async def snapshot_or_last(stores: SessionStores) -> EpochSnapshot:
    """Return the snapshot of the epoch; the last one if the table does not answer. Then the turn is queued anyway."""
    try:
        return await stores.timeout.ask(stores.cache_epoch.read_snapshot)
    except UnavailableError:
        return stores.cache_epoch.last_snapshot or _NEVER
