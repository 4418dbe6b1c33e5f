"""The address of a table, and how to connect to it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mcp_memory_server.adapters.aws.clients import Service, check_endpoint
from mcp_memory_server.adapters.aws.clients import connector as aws_connector
from mcp_memory_server.errors import ConfigurationError

MAX_REQUESTS_AT_ONCE = 32

_TABLE_NAME = re.compile(r"[A-Za-z0-9_.-]{3,255}")


@dataclass(frozen=True)
class TableAddress:
    """A table's name, its region (None: the one of the AWS configuration), and an endpoint other than AWS's."""

    name: str
    region: str | None = None
    endpoint: str | None = None

    def __post_init__(self) -> None:
        if not _TABLE_NAME.fullmatch(self.name):
            raise ConfigurationError(f"a table's name has 3 to 255 of A-Z a-z 0-9 _ . - only, got {self.name!r}")
        check_endpoint(self.endpoint, example="http://localhost:8000")

    def __str__(self) -> str:
        place = self.endpoint or self.region
        return f"table {self.name!r} in {place}" if place else f"table {self.name!r}"


def connector(address: TableAddress, deadline: timedelta) -> Callable[[], Any]:
    """Return a function that makes the client, which takes a tenth of a second and reads files: call it in a thread."""
    service = Service("dynamodb", address.region, address.endpoint, deadline, MAX_REQUESTS_AT_ONCE, read_share=3)
    return aws_connector(service)
