"""Requests to a model of Bedrock: sent from threads, each with a deadline; their errors become ours."""

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

from mcp_memory_server.adapters.aws.account_failures import FOREIGN_ERRORS
from mcp_memory_server.adapters.aws.clients import SharedClient
from mcp_memory_server.adapters.bedrock.address import MAX_REQUESTS_AT_ONCE, ModelAddress
from mcp_memory_server.adapters.bedrock.failures import translated
from mcp_memory_server.errors import UnavailableError

_JSON = "application/json"


class Calls:
    """A client of one model. It is opened by the first request and closed by ``close``."""

    def __init__(self, address: ModelAddress, connect: Callable[[], Any], *, deadline: timedelta) -> None:
        self.address = address
        self._deadline = deadline.total_seconds()
        self._client = SharedClient(connect, at_once=MAX_REQUESTS_AT_ONCE, name="bedrock")

    async def invoke(self, question: Mapping[str, Any]) -> Any:
        """Send the request and return the reply.

        Raises:
            TooLargeError: A text is longer than the model accepts.
            MemoryServerError: The model refused for another reason, or did not answer in time.
        """
        # The socket has timeouts of its own; looking up a host name or credentials has none.
        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.wrap_future(self._submit(question))
        except TimeoutError as error:
            raise UnavailableError(f"{self.address} did not answer within {self._deadline:g} s") from error
        except FOREIGN_ERRORS as error:
            raise translated(error, self.address) from error
        except ValueError as error:
            raise UnavailableError(f"{self.address} returned a reply that is not JSON") from error

    async def close(self) -> None:
        """Close the client after the running requests, without waiting for one that hangs."""
        await self._client.close(self._deadline)

    def _submit(self, question: Mapping[str, Any]) -> Future[Any]:
        def request(client: Any) -> Any:
            body = json.dumps(question)
            answer = client.invoke_model(modelId=self.address.model_id, body=body, contentType=_JSON, accept=_JSON)
            return json.loads(answer["body"].read())

        try:
            return self._client.submit(request)
        except RuntimeError as error:
            raise UnavailableError(f"{self.address} was closed") from error
