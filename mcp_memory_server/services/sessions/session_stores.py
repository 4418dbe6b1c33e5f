"""Where running sessions lie: everything that reading and writing them needs, in one value."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from mcp_memory_server.domain.sessions.limits import Limits
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.ports.outbox import Outbox
from mcp_memory_server.ports.session_memory import SessionMemory
from mcp_memory_server.services.sessions.cache_epoch import CacheEpoch
from mcp_memory_server.services.sessions.stored_turns import StoredTurns
from mcp_memory_server.services.sessions.table_timeout import TableTimeout


@dataclass(frozen=True)
class SessionStores:
    """The turns in the table, their copies, and what is on its way. Without copies the table answers everything.

    Where the outbox is in the copies, a turn is queued in the same step that puts it into its copy.
    """

    stored: StoredTurns
    copies: SessionMemory | None
    trust: CacheEpoch
    outbox: Outbox | None
    timeout: TableTimeout
    metrics: Metrics
    now: Callable[[], datetime]
    outbox_is_in_cache: bool = False
    limits: Limits = field(default_factory=Limits)
