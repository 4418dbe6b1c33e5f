"""A DAX cluster: Amazon's blocking client, opened when first used and called from threads of its own."""

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import botocore.session
from amazondax import AmazonDaxClient
from amazondax.DaxError import DaxClientError
from botocore.config import Config
from botocore.exceptions import ClientError, NoRegionError

from mcp_memory_server.adapters.aws.account_failures import code_of
from mcp_memory_server.adapters.aws.clients import SharedClient
from mcp_memory_server.adapters.dax.health_gate import HealthGate
from mcp_memory_server.adapters.dynamodb.address import MAX_REQUESTS_AT_ONCE
from mcp_memory_server.errors import ConfigurationError, InvalidRequestError, TableUnavailableError

logger = logging.getLogger(__name__)

READS = frozenset({"get_item", "batch_get_item", "query"})

_HOST = re.compile(r"[A-Za-z0-9.-]+")
# The rest of the deadline is for DynamoDB, which is asked when the cluster does not answer.
_CONNECT_SHARE = 10
_READ_SHARE = 5
_WAIT_SHARE = 4

_NO_ANSWER = frozenset({"ConnectionException", "DaxServiceError", "InternalServerErrorException"})
"""Error codes of the cluster itself. Every other code comes from DynamoDB."""

_BEFORE_IT_IS_SENT = frozenset({"NoRouteException", "ValidationException"})
"""Error codes that the client raises before it sends anything: no node is reachable or trusted."""


class ClusterFailedError(Exception):
    """The cluster did not answer, or was not asked because its health gate is shut. DynamoDB can be asked instead."""

    def __init__(self, reason: str, *, may_have_happened: bool, was_asked: bool = True) -> None:
        super().__init__(reason)
        self.may_have_happened = may_have_happened
        self.was_asked = was_asked


@dataclass(frozen=True)
class ClusterAddress:
    """Where a cluster is found: ``dax://host:port``, or ``daxs://host:port`` for one that speaks TLS."""

    url: str

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            fits = parts.scheme in {"dax", "daxs"} and _HOST.fullmatch(parts.hostname or "") and parts.port != 0
        except ValueError:
            fits = False
        if not fits or "@" in self.url:
            raise ConfigurationError("a cluster address is dax://host:8111, or daxs://host:9111 for one with TLS")


def cluster_connector(address: ClusterAddress, region: str | None, deadline: timedelta) -> Callable[[], Any]:
    """Return a function that makes the client. It connects, and raises if no node answers: call it in a thread."""
    config = Config(
        connect_timeout=deadline.total_seconds() / _CONNECT_SHARE,
        read_timeout=deadline.total_seconds() / _READ_SHARE,
        # The client would repeat a write whose condition failed, and a read on a node that hangs.
        retries={"max_attempts": 0},
    )

    def connect() -> Any:
        session = botocore.session.Session()
        chosen = region or session.get_config_variable("region")
        if chosen is None:
            raise NoRegionError
        return AmazonDaxClient(session, region_name=chosen, endpoint_url=address.url, config=config)

    return connect


class Cluster:
    """Asks the cluster, unless its health gate is shut. Reads and writes have a gate each."""

    def __init__(self, connect: Callable[[], Any], *, deadline: timedelta) -> None:
        self._client = SharedClient(connect, at_once=MAX_REQUESTS_AT_ONCE, name="dax")
        self._wait = deadline.total_seconds() / _WAIT_SHARE
        # Writes go to one node and reads to any, so one may work without the other.
        self._reads, self._writes = HealthGate(), HealthGate()

    async def ask(self, operation: str, parameters: Mapping[str, Any], within: float) -> dict[str, Any]:
        """Return the cluster's answer. An error of DynamoDB that the cluster passes on is an answer too.

        Raises:
            ClusterFailedError: There was none in time.
        """
        gate = self._reads if operation in READS else self._writes
        if not gate.may_try():
            raise ClusterFailedError("the cluster is avoided", may_have_happened=False, was_asked=False)
        abandoned = Event()

        def request(client: Any) -> dict[str, Any]:
            if abandoned.is_set():  # its caller stopped waiting before a connection was free
                raise TimeoutError
            return getattr(client, operation)(**parameters)

        try:
            async with asyncio.timeout(min(within, self._wait)):
                answer = await asyncio.wrap_future(self._client.submit(request))
        except ArithmeticError as error:  # raised by the client for a number that DynamoDB cannot store
            raise InvalidRequestError("a number has more than the 38 digits that DynamoDB stores") from error
        except Exception as error:  # the client raises anything when a connection breaks
            if is_answer(error):
                self._answered(gate)
                raise
            self._failed(gate, error)
            raise ClusterFailedError(code_of(error), may_have_happened=not _never_sent(error)) from error
        finally:
            abandoned.set()
        self._answered(gate)
        return answer

    def in_background(self, work: Callable[[Any], None]) -> None:
        """Run the work with the client in a thread, after the calls that wait already. It must not raise."""
        with suppress(RuntimeError):  # closed: no one needs the work any more
            self._client.submit(work)

    async def close(self) -> None:
        """Close the client after the running requests, without waiting for one that hangs."""
        await self._client.close(self._wait)

    def _answered(self, gate: HealthGate) -> None:
        if gate.answered():
            logger.warning("the DAX cluster answers again")

    def _failed(self, gate: HealthGate, error: Exception) -> None:
        if gate.failed():
            logger.warning("the DAX cluster does not answer (%s); DynamoDB is asked instead", code_of(error))


async def check_cluster(url: str, *, region: str | None, deadline: timedelta) -> None:
    """Connect to the cluster and disconnect.

    Raises:
        TableUnavailableError: It does not answer. Memory works without it, only slower.
    """
    client = SharedClient(cluster_connector(ClusterAddress(url), region, deadline), at_once=1, name="dax")
    try:
        async with asyncio.timeout(deadline.total_seconds()):
            await asyncio.wrap_future(client.submit(lambda _: None))
    except Exception as error:  # see Cluster.ask
        raise TableUnavailableError(f"the cluster {url} does not answer ({code_of(error)})") from error
    finally:
        await client.close(deadline.total_seconds())


def is_answer(error: Exception) -> bool:
    """Return whether this error is an answer of the cluster, not one that the client raised by itself."""
    return isinstance(error, ClientError) and not isinstance(error, DaxClientError) and code_of(error) not in _NO_ANSWER


def _never_sent(error: Exception) -> bool:
    return isinstance(error, ConnectionRefusedError) or code_of(error) in _BEFORE_IT_IS_SENT
