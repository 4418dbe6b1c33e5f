"""The stores of running sessions: everything that reading and writing them needs, in one value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from mcp_memory_server.domain.sessions.limits import Limits
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.outbox import Outbox
from mcp_memory_server.ports.session_cache import SessionCache
from mcp_memory_server.ports.session_deadlines import SessionDeadlines
from mcp_memory_server.ports.shared_state_store import SharedStateStore
from mcp_memory_server.services.sessions.cache_epoch import CacheEpoch
from mcp_memory_server.services.sessions.stored_turns import StoredTurns, TableTimeout


@dataclass(frozen=True)
class SessionStores:
    """The turns in the table, their cache, the shared states and the outbox. Without a cache the table is read.

    With ``outbox_is_in_cache``, the step that puts a turn into the cache can queue it as well.
    """

    stored: StoredTurns
    cache: SessionCache | None
    deadlines: SessionDeadlines | None
    states: SharedStateStore
    cache_epoch: CacheEpoch
    outbox: Outbox | None
    timeout: TableTimeout
    metrics: Metrics
    now: Callable[[], datetime]
    outbox_is_in_cache: bool = False
    limits: Limits = field(default_factory=Limits)
