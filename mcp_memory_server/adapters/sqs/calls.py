"""Requests to SQS: sent from threads, each with a deadline, their errors turned into ours."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Lock
from typing import Any

from mcp_memory_server.adapters.sqs.address import MAX_REQUESTS_AT_ONCE, QueueAddress
from mcp_memory_server.adapters.sqs.failures import FOREIGN_ERRORS, translated
from mcp_memory_server.errors import UnavailableError


class Calls:
    """A client of one queue. It is made when first used; what is open is closed by ``close``."""

    def __init__(self, address: QueueAddress, connect: Callable[[], Any], *, deadline: timedelta) -> None:
        self.address = address
        self._connect = connect
        self._deadline = deadline.total_seconds()
        self._threads = ThreadPoolExecutor(MAX_REQUESTS_AT_ONCE, thread_name_prefix="sqs")
        self._connecting = Lock()
        self._client: Any = None
        self._queue_url = ""

    async def send(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """Return the queue's answer.

        Raises:
            MemoryServerError: It refused, or did not answer in time.
        """
        # The socket has its own timeouts, but looking up a name or a credential has none.
        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.wrap_future(self._submit(operation, parameters))
        except TimeoutError as error:
            raise UnavailableError(f"{self.address} did not answer within {self._deadline:g} s") from error
        except FOREIGN_ERRORS as error:
            raise translated(error, self.address) from error

    async def close(self) -> None:
        """Let running requests end and close the client. What hangs longer than a call may take is left behind."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(self._let_go), self._deadline)

    def _let_go(self) -> None:
        self._threads.shutdown()
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _submit(self, operation: str, parameters: dict[str, Any]) -> Future[dict[str, Any]]:
        try:
            return self._threads.submit(self._request, operation, parameters)
        except RuntimeError as error:
            raise UnavailableError(f"{self.address} was closed") from error

    def _request(self, operation: str, parameters: dict[str, Any]) -> dict[str, Any]:
        with self._connecting:
            if self._client is None:
                self._client = self._connect()
            client = self._client
            if not self._queue_url:
                self._queue_url = client.get_queue_url(QueueName=self.address.name)["QueueUrl"]
        return getattr(client, operation)(QueueUrl=self._queue_url, **parameters)
