"""Choose what is used beside the table: the cache of running sessions, the outbox and the dead letters."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
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
from mcp_memory_server.ports.state_channel import StateChannel
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring.packages import missing_package

if TYPE_CHECKING:
    from mcp_memory_server.adapters.redis.sessions import RedisSessions

OUTBOX_FILE = "outbox.db"
NAME_LENGTH = 8
LOCAL_STATE_POLL = timedelta(milliseconds=100)
REMOTE_STATE_POLL = timedelta(seconds=1)


@dataclass(frozen=True)
class SessionBackends:
    """What running sessions use beside the table; each may be done without.

    Without a channel that announces changes of shared states, a watched one is read every ``state_poll``.
    """

    cache: SessionCache | None = None
    channel: StateChannel | None = None
    deadlines: SessionDeadlines | None = None
    outbox: Outbox | None = None
    dead_letters: DeadLetters | None = None
    acknowledge: Acknowledge = Acknowledge.TABLE
    outbox_is_in_cache: bool = False
    state_poll: timedelta = LOCAL_STATE_POLL
    unreachable: tuple[str, ...] = ()
    """What is kept where erasing a user does not reach."""

    async def close(self) -> None:
        """Close all of them."""
        for store in (self.cache, self.outbox, self.dead_letters):
            if store is not None:
                await store.close()


def is_embedded(settings: Settings) -> bool:
    """Return whether nothing but files of this machine is used beside the table."""
    stores = (
        parse_sessions(settings.sessions),
        parse_outbox(settings.outbox),
        parse_dead_letters(settings.dead_letters),
    )
    return all(isinstance(store, LocalFile | Nowhere) for store in stores)


def outbox_file(settings: Settings) -> Path:
    """Return the file of the outbox and the dead letters, if they are stored in a file."""
    match parse_outbox(settings.outbox):
        case LocalFile(Path() as path):
            return path
        case _:
            return local_folder(settings) / OUTBOX_FILE


def open_backends(settings: Settings, now: Callable[[], datetime]) -> SessionBackends:
    """Open what the settings name. Nothing is sent and no file is made before something is used.

    Raises:
        ConfigurationError: A package is missing, or two settings do not go together.
    """
    sessions = _open_sessions(settings)
    outbox = _open_outbox(settings, sessions, now)
    if outbox is None and settings.acknowledge is Acknowledge.OUTBOX:
        raise ConfigurationError("MCP_MEMORY_ACKNOWLEDGE=outbox needs an outbox; MCP_MEMORY_OUTBOX is none")
    return SessionBackends(
        cache=None if sessions is None else sessions.cache,
        deadlines=None if sessions is None else sessions.deadlines,
        channel=None if sessions is None else sessions.channel,
        outbox=outbox,
        dead_letters=_open_dead_letters(settings, now),
        acknowledge=settings.acknowledge,
        outbox_is_in_cache=isinstance(parse_outbox(settings.outbox), RedisStore),
        unreachable=_unreachable(settings),
        state_poll=LOCAL_STATE_POLL if isinstance(parse_table(settings.table), SqliteTable) else REMOTE_STATE_POLL,
    )


def _unreachable(settings: Settings) -> tuple[str, ...]:
    """Return what these stores keep of an erased user where no program reaches it."""
    uses_redis = RedisStore in (type(parse_sessions(settings.sessions)), type(parse_outbox(settings.outbox)))
    in_flight = isinstance(parse_dead_letters(settings.dead_letters), SqsQueue)
    named = (
        (not isinstance(parse_table(settings.table), SqliteTable), "backups of DynamoDB: up to 35 days"),
        (uses_redis, "Redis' append-only file and snapshots, until it rewrites them (BGREWRITEAOF, BGSAVE)"),
        (in_flight, "SQS messages that another consumer holds now: they are dropped at their redrive"),
        (True, "exports and copies of files that somebody made"),
    )
    return tuple(text for applies, text in named if applies)


def _name(settings: Settings) -> str:
    """Return the name of this table's cache: several tables may share a Redis."""
    match parse_table(settings.table):
        case SqliteTable(path):
            named = f"sqlite {path}"
        case DynamoDbTable(name, region) | DaxTable(_, DynamoDbTable(name, region)):
            named = f"dynamodb {region} {name}"
    return sha256(named.encode()).hexdigest()[:NAME_LENGTH]


def local_folder(settings: Settings) -> Path:
    """Return the folder of this machine's own files: beside the table if it is one, else that of the user's data."""
    table = parse_table(settings.table)
    return table.path.parent if isinstance(table, SqliteTable) else data_folder()


def _open_sessions(settings: Settings) -> "RedisSessions | None":
    match parse_sessions(settings.sessions):
        case RedisStore(url):
            try:
                from mcp_memory_server.adapters.redis.sessions import open_redis
            except ModuleNotFoundError as error:
                raise missing_package("redis", error) from error
            return open_redis(url or "", namespace=_name(settings))
        case Nowhere():
            return None


def _open_outbox(settings: Settings, sessions: "RedisSessions | None", now: Callable[[], datetime]) -> Outbox | None:
    match parse_outbox(settings.outbox):
        case LocalFile():
            from mcp_memory_server.adapters.sqlite.outbox import SqliteOutbox

            return SqliteOutbox(outbox_file(settings), now=now)
        case RedisStore():
            return _redis_outbox(sessions)
        case Nowhere():
            return None


def _redis_outbox(sessions: "RedisSessions | None") -> Outbox:
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
