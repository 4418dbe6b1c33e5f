"""A DAX cluster: the real client, opened when first used, asked from threads of its own."""

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

from mcp_memory_server.adapters.aws.clients import SharedClient
from mcp_memory_server.adapters.aws.failures import code_of
from mcp_memory_server.adapters.dax.health_gate import HealthGate
from mcp_memory_server.adapters.dynamodb.address import MAX_REQUESTS_AT_ONCE
from mcp_memory_server.errors import ConfigurationError, InvalidRequestError, TableUnavailableError

logger = logging.getLogger(__name__)

READS = frozenset({"get_item", "batch_get_item", "query"})

_HOST = re.compile(r"[A-Za-z0-9.-]+")
# What is left of the deadline is for the table, which is asked when the cluster is silent.
_CONNECT_SHARE = 10
_READ_SHARE = 5
_WAIT_SHARE = 4

_NO_ANSWER = frozenset({"ConnectionException", "DaxServiceError", "InternalServerErrorException"})
"""What the cluster says of itself. Every other code is DynamoDB's, passed on."""

_BEFORE_IT_IS_SENT = frozenset({"NoRouteException", "ValidationException"})
"""What the client says before it sends anything: nobody is there, or nobody with a certificate that is trusted."""


class ClusterFailedError(Exception):
    """The cluster did not answer, or was not asked because it has not answered lately. The table has the truth."""

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
            raise ConfigurationError("a cluster is written dax://host:8111, or daxs://host:9111 for one with TLS")


def cluster_connector(address: ClusterAddress, region: str | None, deadline: timedelta) -> Callable[[], Any]:
    """Return what makes the client. It connects at once and raises when nobody is there: call it in a thread."""
    config = Config(
        connect_timeout=deadline.total_seconds() / _CONNECT_SHARE,
        read_timeout=deadline.total_seconds() / _READ_SHARE,
        # It would send a write again whose condition failed, and a read to a node that is silent.
        retries={"max_attempts": 0},
    )

    def connect() -> Any:
        session = botocore.session.Session()
        known = region or session.get_config_variable("region")
        if known is None:
            raise NoRegionError
        return AmazonDaxClient(session, region_name=known, endpoint_url=address.url, config=config)

    return connect


class Cluster:
    """Asks the cluster, unless it has not answered lately; for reads and for writes that is known apart."""

    def __init__(self, connect: Callable[[], Any], *, deadline: timedelta) -> None:
        self._client = SharedClient(connect, at_once=MAX_REQUESTS_AT_ONCE, name="dax")
        self._wait = deadline.total_seconds() / _WAIT_SHARE
        # Writes go to one node and reads to any, so one may work without the other.
        self._reads, self._writes = HealthGate(), HealthGate()

    async def ask(self, operation: str, parameters: Mapping[str, Any], within: float) -> dict[str, Any]:
        """Return the cluster's answer. An error of DynamoDB's, passed on by the cluster, is an answer too.

        Raises:
            ClusterFailedError: There was none in time.
        """
        gate = self._reads if operation in READS else self._writes
        if not gate.may_try():
            raise ClusterFailedError("it is avoided", may_have_happened=False, was_asked=False)
        given_up = Event()

        def request(client: Any) -> dict[str, Any]:
            if given_up.is_set():  # it waited for a connection for longer than its caller did
                raise TimeoutError
            return getattr(client, operation)(**parameters)

        try:
            async with asyncio.timeout(min(within, self._wait)):
                answer = await asyncio.wrap_future(self._client.submit(request))
        except ArithmeticError as error:  # the client's numbers are those of DynamoDB: it has no others
            raise InvalidRequestError("DynamoDB has no number like one of these; it has 38 digits") from error
        except Exception as error:  # the client lets out whatever happens inside it when a connection breaks
            if is_answer(error):
                self._answered(gate)
                raise
            self._failed(gate, error)
            raise ClusterFailedError(code_of(error), may_have_happened=not _never_sent(error)) from error
        finally:
            given_up.set()
        self._answered(gate)
        return answer

    def in_background(self, work: Callable[[Any], None]) -> None:
        """Do the work with the client, in a thread, after what is waiting. It must not raise."""
        with suppress(RuntimeError):  # it was closed, and there is nothing left to do it for
            self._client.submit(work)

    async def close(self) -> None:
        """Let running requests end and close the client. What hangs is left behind."""
        await self._client.close(self._wait)

    def _answered(self, gate: HealthGate) -> None:
        if gate.answered():
            logger.warning("the DAX cluster answers again")

    def _failed(self, gate: HealthGate, error: Exception) -> None:
        if gate.failed():
            logger.warning("the DAX cluster does not answer (%s); DynamoDB is asked instead", code_of(error))


async def check_cluster(url: str, *, region: str | None, deadline: timedelta) -> None:
    """Connect to the cluster, and leave it again.

    Raises:
        TableUnavailableError: It cannot be used. Memory works without it, only slower.
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
    """Tell whether the cluster answered with this error. One that the client came to by itself is no answer."""
    return isinstance(error, ClientError) and not isinstance(error, DaxClientError) and code_of(error) not in _NO_ANSWER


def _never_sent(error: Exception) -> bool:
    return isinstance(error, ConnectionRefusedError) or code_of(error) in _BEFORE_IT_IS_SENT
