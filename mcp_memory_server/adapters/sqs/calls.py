"""Requests to SQS: sent from threads, each with a deadline; their errors become ours."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from datetime import timedelta
from threading import Lock
from typing import Any

from mcp_memory_server.adapters.aws.account_failures import FOREIGN_ERRORS
from mcp_memory_server.adapters.aws.clients import SharedClient
from mcp_memory_server.adapters.sqs.address import MAX_REQUESTS_AT_ONCE, QueueAddress
from mcp_memory_server.adapters.sqs.failures import translated
from mcp_memory_server.errors import UnavailableError


class Calls:
    """A client of one queue. It is opened by the first request and closed by ``close``."""

    def __init__(self, address: QueueAddress, connect: Callable[[], Any], *, deadline: timedelta) -> None:
        self.address = address
        self._deadline = deadline.total_seconds()
        self._client = SharedClient(connect, at_once=MAX_REQUESTS_AT_ONCE, name="sqs")
        self._finding = Lock()
        self._queue_url = ""

    async def send(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Send the request and return the reply.

        Raises:
            MemoryServerError: The queue refused, or did not answer in time.
        """
        # The socket has timeouts of its own; looking up a host name or credentials has none.
        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.wrap_future(self._submit(operation, parameters))
        except TimeoutError as error:
            raise UnavailableError(f"{self.address} did not answer within {self._deadline:g} s") from error
        except FOREIGN_ERRORS as error:
            raise translated(error, self.address) from error

    async def close(self) -> None:
        """Close the client after the running requests, without waiting for one that hangs."""
        await self._client.close(self._deadline)

    def _submit(self, operation: str, parameters: dict[str, Any]) -> Future[dict[str, Any]]:
        def request(client: Any) -> dict[str, Any]:
            return getattr(client, operation)(QueueUrl=self._url(client), **parameters)

        try:
            return self._client.submit(request)
        except RuntimeError as error:
            raise UnavailableError(f"{self.address} was closed") from error

    def _url(self, client: Any) -> str:
        with self._finding:
            if not self._queue_url:
                self._queue_url = client.get_queue_url(QueueName=self.address.name)["QueueUrl"]
            return self._queue_url
