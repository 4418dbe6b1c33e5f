"""A client of one service of AWS: opened by its first request, called from threads, with our own timeouts."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import urlsplit

from boto3.session import Session
from botocore.config import Config

from mcp_memory_server.errors import ConfigurationError

R = TypeVar("R")

_CONNECT_SHARE = 5


@dataclass(frozen=True)
class Service:
    """The service, its place, and how long and how often it is asked.

    A request waits for the ``read_share``\\ th part of the deadline, and is sent ``attempts`` times at most.
    Without a region, that of the AWS configuration is taken. An endpoint replaces that of AWS.
    """

    name: str
    region: str | None
    endpoint: str | None
    deadline: timedelta
    at_once: int
    attempts: int = 1
    read_share: int = 3


def check_endpoint(endpoint: str | None, *, example: str) -> None:
    """Raise for an endpoint that is not a web address. The message does not quote it: it may hold a password.

    Raises:
        ConfigurationError: It is none, or names a user.
    """
    try:
        parts = urlsplit(endpoint or example)
        fits = parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        fits = False
    if not fits:
        raise ConfigurationError(f"the endpoint must be an address such as {example}, without a user name")


def connector(service: Service) -> Callable[[], Any]:
    """Return a function that makes the client, which takes a tenth of a second and reads files: call it in a thread."""
    config = Config(
        connect_timeout=service.deadline.total_seconds() / _CONNECT_SHARE,
        read_timeout=service.deadline.total_seconds() / service.read_share,
        retries={"total_max_attempts": service.attempts, "mode": "standard"},
        max_pool_connections=service.at_once,
        tcp_keepalive=True,
    )

    def connect() -> Any:
        # A session of our own: boto3's default one is shared and not safe to use from several threads.
        session = Session(region_name=service.region)
        # An endpoint other than AWS's ignores the region, but a request cannot be signed without one.
        region = session.region_name or ("us-east-1" if service.endpoint else None)
        return session.client(service.name, region_name=region, endpoint_url=service.endpoint, config=config)

    return connect


class SharedClient:
    """One client that many threads use. It is opened by the first request and closed by ``close``."""

    def __init__(self, connect: Callable[[], Any], *, at_once: int, name: str) -> None:
        self._connect = connect
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix=name)
        self._connecting = Lock()
        self._client: Any = None

    def submit(self, work: Callable[[Any], R]) -> Future[R]:
        """Run the work with the client in a thread.

        Raises:
            RuntimeError: It was closed.
        """
        return self._threads.submit(lambda: work(self._made()))

    async def close(self, within: float) -> None:
        """Close the client after the running requests, and wait for them at most this many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(self._let_go), within)

    def _made(self) -> Any:
        with self._connecting:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _let_go(self) -> None:
        self._threads.shutdown()
        client, self._client = self._client, None
        if client is not None:
            client.close()
