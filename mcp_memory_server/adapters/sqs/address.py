"""The address of a queue, and how to connect to it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mcp_memory_server.adapters.aws.clients import Service, check_endpoint
from mcp_memory_server.adapters.aws.clients import connector as aws_connector
from mcp_memory_server.errors import ConfigurationError

MAX_REQUESTS_AT_ONCE = 4

_QUEUE_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}")


@dataclass(frozen=True)
class QueueAddress:
    """A queue's name, its region (None: the one of the AWS configuration), and an endpoint other than AWS's."""

    name: str
    region: str | None = None
    endpoint: str | None = None

    def __post_init__(self) -> None:
        if not _QUEUE_NAME.fullmatch(self.name):
            raise ConfigurationError(
                f"the name of a standard queue has 1 to 80 of A-Z a-z 0-9 _ - only, got {self.name!r}"
            )
        check_endpoint(self.endpoint, example="http://localhost:4566")

    def __str__(self) -> str:
        place = self.endpoint or self.region
        return f"queue {self.name!r} in {place}" if place else f"queue {self.name!r}"


def connector(address: QueueAddress, deadline: timedelta) -> Callable[[], Any]:
    """Return a function that makes the client, which takes a tenth of a second and reads files: call it in a thread."""
    # A retry does no harm: a letter may be stored twice, and one received twice becomes visible again.
    service = Service("sqs", address.region, address.endpoint, deadline, MAX_REQUESTS_AT_ONCE, attempts=2, read_share=2)
    return aws_connector(service)
