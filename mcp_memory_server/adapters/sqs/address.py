"""Which queue is meant, and how to reach it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

from boto3.session import Session
from botocore.config import Config

from mcp_memory_server.errors import ConfigurationError

MAX_REQUESTS_AT_ONCE = 4

_QUEUE_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")
_ATTEMPTS = 2
_CONNECT_SHARE = 5
_READ_SHARE = 2


@dataclass(frozen=True)
class QueueAddress:
    """A queue's name, its region (None: the one that AWS's own settings name), and an endpoint other than AWS's."""

    name: str
    region: str | None = None
    endpoint: str | None = None

    def __post_init__(self) -> None:
        if not _QUEUE_NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"the name of a standard queue has 1 to 80 of A-Z a-z 0-9 _ - only, got {self.name!r}"
            )
        if self.endpoint is not None and not _is_web_address(self.endpoint):
            raise ConfigurationError(
                "the endpoint must be an address such as http://localhost:4566, without a user name"
            )

    def __str__(self) -> str:
        place = self.endpoint or self.region
        return f"queue {self.name!r} in {place}" if place else f"queue {self.name!r}"


def connector(address: QueueAddress, deadline: timedelta) -> Callable[[], Any]:
    """Return what makes the client. It takes a tenth of a second and reads files: call it in a thread."""

    def connect() -> Any:
        # A session of our own: boto3's default one is shared and not safe to use from several threads.
        session = Session(region_name=address.region)
        # Another service than AWS's does not care, but a request cannot be signed without a region.
        region = session.region_name or ("us-east-1" if address.endpoint else None)
        return session.client("sqs", region_name=region, endpoint_url=address.endpoint, config=_config(deadline))

    return connect


def _config(deadline: timedelta) -> Config:
    # A repeated request does no harm: a letter may be kept twice, and one that is taken twice comes back.
    return Config(
        connect_timeout=deadline.total_seconds() / _CONNECT_SHARE,
        read_timeout=deadline.total_seconds() / _READ_SHARE,
        retries={"total_max_attempts": _ATTEMPTS, "mode": "standard"},
        max_pool_connections=MAX_REQUESTS_AT_ONCE,
        tcp_keepalive=True,
    )


def _is_web_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
