"""Which Redis is meant, and how to reach it."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlencode, urlsplit

from redis import Redis, RedisCluster
from redis import asyncio as redis_asyncio
from redis.asyncio.connection import parse_url as parse_asyncio_url
from redis.asyncio.retry import Retry as AsyncioRetry
from redis.backoff import NoBackoff
from redis.connection import ConnectionPool, parse_url
from redis.retry import Retry

from mcp_memory_server.adapters.redis.keys import SPACE
from mcp_memory_server.errors import ConfigurationError

Client: TypeAlias = Redis | RedisCluster

DEFAULT_PORT = 6379

_SCHEMES = ("redis", "rediss")
_YES, _NO = ("true", "yes", "1"), ("false", "no", "0")


@dataclass(frozen=True)
class RedisAddress:
    """A server, or the cluster that it belongs to. The text of it names no password."""

    host: str
    port: int
    url: str = field(repr=False)
    is_cluster: bool = False
    space: str = SPACE

    def __str__(self) -> str:
        return f"Redis at {self.host}:{self.port}"


def redis_address(url: str, namespace: str = "") -> RedisAddress:
    """Read an address such as ``rediss://user:password@host:6379/0?cluster=true``.

    Memories with different namespaces know nothing of each other.

    Raises:
        ConfigurationError: It is none. The message does not repeat it: it may hold a password.
    """
    try:
        parts = urlsplit(url)
        options = parse_qs(parts.query)
        cluster = options.pop("cluster", ["false"])[0].lower()
        address = parts._replace(query=urlencode(options, doseq=True)).geturl()
        parse_url(address)
        port = parts.port or DEFAULT_PORT
    except ValueError:
        raise _not_an_address() from None
    if parts.scheme not in _SCHEMES or not parts.hostname or cluster not in _YES + _NO:
        raise _not_an_address()
    space = f"{SPACE}-{namespace}" if namespace else SPACE
    return RedisAddress(parts.hostname, port, address, is_cluster=cluster in _YES, space=space)


def connector(address: RedisAddress, deadline: timedelta, most_at_once: int) -> Callable[[], Client]:
    """Return what makes the client. For a cluster that asks the server: call it in a thread."""
    options = {**parse_url(address.url), **_timeout(deadline), "host": address.host, "port": address.port}
    # The client would send again what it got no answer to, although it may have been carried out.
    never = Retry(NoBackoff(), 0)

    def connect() -> Redis:
        return Redis(connection_pool=ConnectionPool(**options, retry=never, max_connections=most_at_once))

    def connect_to_cluster() -> RedisCluster:
        return RedisCluster(**{name: value for name, value in options.items() if name != "db"}, retry=never)

    return connect_to_cluster if address.is_cluster else connect


def listening_place(address: RedisAddress, client: Client) -> tuple[str, int]:
    """Return where to listen. In a cluster any node will do: each of them hears everything that is published."""
    if isinstance(client, RedisCluster):
        node = random.choice(client.get_primaries())  # noqa: S311
        return node.host, node.port
    return address.host, address.port


def listener(address: RedisAddress, place: tuple[str, int], deadline: timedelta) -> redis_asyncio.Redis:
    """Return a client for listening, of this event loop only. Whoever asked for it closes it and sets its deadlines."""
    options = {**parse_asyncio_url(address.url), **_timeout(deadline), "host": place[0], "port": place[1]}
    # With a timeout of its own for sending, the client may lose a cancellation in Python 3.11, and listen for ever.
    options["socket_timeout"] = None
    pool = redis_asyncio.ConnectionPool(**options, retry=AsyncioRetry(NoBackoff(), 0))
    return redis_asyncio.Redis.from_pool(pool)


def _timeout(deadline: timedelta) -> Mapping[str, Any]:
    seconds = deadline.total_seconds()
    return {"socket_timeout": seconds, "socket_connect_timeout": seconds, "decode_responses": True, "protocol": 2}


def _not_an_address() -> ConfigurationError:
    return ConfigurationError(
        "the address of a Redis must look like redis://host:6379/0, rediss://user:password@host:6379 for TLS, "
        "or redis://host:6379?cluster=true"
    )
