"""Choosing what lies beside the table: the cache of running sessions, the outbox and the dead letters."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from mcp_memory_server.addresses import (
    DaxTable,
    DynamoDbTable,
    LocalFile,
    Nowhere,
    RedisStore,
    SqliteTable,
    SqsQueue,
    data_folder,
    parse_dead_letters,
    parse_outbox,
    parse_sessions,
    parse_table,
)
from mcp_memory_server.domain.sessions.acknowledge import Acknowledge
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.ports.dead_letters import DeadLetters
from mcp_memory_server.ports.outbox import Outbox
from mcp_memory_server.ports.session_cache import SessionCache
from mcp_memory_server.ports.session_deadlines import SessionDeadlines
from mcp_memory_server.ports.shared_state_store import SharedStateStore
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring.packages import missing_package

if TYPE_CHECKING:
    from mcp_memory_server.adapters.redis.sessions import RedisSessions
    from mcp_memory_server.adapters.sqlite.session_memory import SqliteSessionMemory

    _Sessions = SqliteSessionMemory | RedisSessions | None

SESSIONS_FILE = "sessions.db"
OUTBOX_FILE = "outbox.db"
NAME_LENGTH = 8


@dataclass(frozen=True)
class SessionBackends:
    """What running sessions use beside the table; each may be done without.

    The cache is used only where every process that writes to the table can reach it.
    """

    cache: SessionCache | None = None
    states: SharedStateStore | None = None
    deadlines: SessionDeadlines | None = None
    outbox: Outbox | None = None
    dead_letters: DeadLetters | None = None
    acknowledge: Acknowledge = Acknowledge.TABLE
    outbox_is_in_cache: bool = False

    async def close(self) -> None:
        """Let go of all of them."""
        for store in (self.cache, self.outbox, self.dead_letters):
            if store is not None:
                await store.close()


def is_embedded(settings: Settings) -> bool:
    """Tell whether nothing but files of this machine is used beside the table."""
    stores = (
        parse_sessions(settings.sessions),
        parse_outbox(settings.outbox),
        parse_dead_letters(settings.dead_letters),
    )
    return all(isinstance(store, LocalFile | Nowhere) for store in stores)


def outbox_file(settings: Settings) -> Path:
    """Return the file in which turns wait, and dead letters lie, if they are kept in a file."""
    match parse_outbox(settings.outbox):
        case LocalFile(Path() as path):
            return path
        case _:
            return _folder(settings) / OUTBOX_FILE


def sessions_file(settings: Settings) -> Path:
    """Return the file in which running sessions are at hand, if they are kept in a file."""
    match parse_sessions(settings.sessions):
        case LocalFile(Path() as path):
            return path
        case _:
            return _folder(settings) / SESSIONS_FILE


def open_backends(settings: Settings, now: Callable[[], datetime]) -> SessionBackends:
    """Open what the settings name. Nothing is sent and no file is made before something is used.

    Raises:
        ConfigurationError: A package is missing, or two settings do not go together.
    """
    sessions = _open_sessions(settings, now)
    outbox = _open_outbox(settings, sessions, now)
    if outbox is None and settings.acknowledge is Acknowledge.OUTBOX:
        raise ConfigurationError("MCP_MEMORY_ACKNOWLEDGE=outbox needs an outbox; MCP_MEMORY_OUTBOX is none")
    # A file of this machine misses what other machines write to a table that they share.
    in_redis = isinstance(parse_sessions(settings.sessions), RedisStore)
    is_shared = in_redis or isinstance(parse_table(settings.table), SqliteTable)
    return SessionBackends(
        cache=sessions.cache if sessions is not None and is_shared else None,
        states=None if sessions is None else sessions.states,
        deadlines=sessions.deadlines if sessions is not None and is_shared else None,
        outbox=outbox,
        dead_letters=_open_dead_letters(settings, now),
        acknowledge=settings.acknowledge,
        outbox_is_in_cache=isinstance(parse_outbox(settings.outbox), RedisStore),
    )


def _name(settings: Settings) -> str:
    """Return what tells the cache of this table from that of another one in the same Redis."""
    match parse_table(settings.table):
        case SqliteTable(path):
            named = f"sqlite {path}"
        case DynamoDbTable(name, region) | DaxTable(_, DynamoDbTable(name, region)):
            named = f"dynamodb {region} {name}"
    return sha256(named.encode()).hexdigest()[:NAME_LENGTH]


def _folder(settings: Settings) -> Path:
    table = parse_table(settings.table)
    return table.path.parent if isinstance(table, SqliteTable) else data_folder()


def _open_sessions(settings: Settings, now: Callable[[], datetime]) -> "_Sessions":
    match parse_sessions(settings.sessions):
        case LocalFile():
            from mcp_memory_server.adapters.sqlite.session_memory import SqliteSessionMemory

            return SqliteSessionMemory(sessions_file(settings), now=now)
        case RedisStore(url):
            try:
                from mcp_memory_server.adapters.redis.sessions import open_redis
            except ModuleNotFoundError as error:
                raise missing_package("redis", error) from error
            return open_redis(url or "", namespace=_name(settings))
        case Nowhere():
            return None


def _open_outbox(settings: Settings, sessions: "_Sessions", now: Callable[[], datetime]) -> Outbox | None:
    match parse_outbox(settings.outbox):
        case LocalFile():
            from mcp_memory_server.adapters.sqlite.outbox import SqliteOutbox

            return SqliteOutbox(outbox_file(settings), now=now)
        case RedisStore():
            return _redis_outbox(sessions)
        case Nowhere():
            return None


def _redis_outbox(sessions: "_Sessions") -> Outbox:
    try:
        from mcp_memory_server.adapters.redis.outbox import RedisOutbox
        from mcp_memory_server.adapters.redis.sessions import RedisSessions
    except ModuleNotFoundError as error:
        raise missing_package("redis", error) from error
    if not isinstance(sessions, RedisSessions):
        raise ConfigurationError(
            "MCP_MEMORY_OUTBOX=redis: is the Redis of the sessions; set MCP_MEMORY_SESSIONS=redis://host:6379/0 too"
        )
    return RedisOutbox.of(sessions)


def _open_dead_letters(settings: Settings, now: Callable[[], datetime]) -> DeadLetters:
    match parse_dead_letters(settings.dead_letters):
        case LocalFile():
            from mcp_memory_server.adapters.sqlite.dead_letters import SqliteDeadLetters

            return SqliteDeadLetters(outbox_file(settings), now=now)
        case SqsQueue(name, region, endpoint):
            try:
                from mcp_memory_server.adapters.sqs.dead_letters import open_sqs
            except ModuleNotFoundError as error:
                raise missing_package("sqs", error) from error
            return open_sqs(name, region=region, endpoint=endpoint)
