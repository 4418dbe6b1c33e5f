"""The address of a model, and how to connect to it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from mcp_memory_server.adapters.aws.clients import Service, check_endpoint
from mcp_memory_server.adapters.aws.clients import connector as aws_connector

MAX_REQUESTS_AT_ONCE = 8


@dataclass(frozen=True)
class ModelAddress:
    """A model's id, its region (None: the one of the AWS configuration), and an endpoint other than AWS's."""

    model_id: str
    region: str | None = None
    endpoint: str | None = None

    def __post_init__(self) -> None:
        check_endpoint(self.endpoint, example="http://localhost:4566")

    def __str__(self) -> str:
        place = self.endpoint or self.region
        return f"model {self.model_id!r} in {place}" if place else f"model {self.model_id!r}"


def connector(address: ModelAddress, deadline: timedelta) -> Callable[[], Any]:
    """Return a function that makes the client, which takes a tenth of a second and reads files: call it in a thread."""
    place = (address.region, address.endpoint)
    return aws_connector(Service("bedrock-runtime", *place, deadline, MAX_REQUESTS_AT_ONCE, attempts=2, read_share=2))
