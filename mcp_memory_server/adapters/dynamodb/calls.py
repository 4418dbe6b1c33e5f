"""Requests to DynamoDB: sent from threads, retried until their deadline; their errors become ours."""

import asyncio
import itertools
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from mcp_memory_server.adapters.aws.account_failures import FOREIGN_ERRORS, code_of
from mcp_memory_server.adapters.aws.clients import SharedClient
from mcp_memory_server.adapters.dynamodb.address import MAX_REQUESTS_AT_ONCE, TableAddress
from mcp_memory_server.adapters.dynamodb.failures import (
    is_failed_condition,
    is_too_much,
    may_have_happened,
    may_pass,
    reasons_of,
    translated,
)
from mcp_memory_server.errors import TableThrottledError, TableUnavailableError

_FIRST_PAUSE = 0.025
_LONGEST_PAUSE = 1.0


@dataclass(frozen=True)
class Deadline:
    """The time on the monotonic clock by which a call must have ended."""

    moment: float

    def remaining(self) -> float:
        """Return the seconds that are left, 0 or less when time is up."""
        return self.moment - time.monotonic()


class RefusedError(Exception):
    """A refusal that the sender of the request handles itself: a failed condition, or one of the codes it named."""

    def __init__(self, code: str, reasons: tuple[str, ...], *, after_lost_reply: bool) -> None:
        super().__init__(code)
        self.code = code
        self.reasons = reasons
        self.after_lost_reply = after_lost_reply
        """Whether an earlier attempt of the same request got no reply and may have been carried out."""


Attempt = Callable[[str, Mapping[str, Any], Deadline], Awaitable[dict[str, Any]]]


class Calls:
    """A client of one table. It is opened by the first request and closed by ``close``."""

    def __init__(
        self,
        address: TableAddress,
        connect: Callable[[], Any],
        *,
        deadline: timedelta,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.address = address
        self._deadline = deadline.total_seconds()
        self._jitter = jitter
        self._client = SharedClient(connect, at_once=MAX_REQUESTS_AT_ONCE, name="dynamodb")

    def start(self) -> Deadline:
        """Return the deadline of a call that begins now."""
        return Deadline(time.monotonic() + self._deadline)

    async def send(
        self, operation: str, parameters: Mapping[str, Any], deadline: Deadline, *, shown: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Send the request, retry it while it may still succeed in time, and return the reply.

        Raises:
            RefusedError: A condition of the request failed, or the reply has one of the codes in ``shown``.
            MemoryServerError: Another permanent error, or no success in time.
        """
        return await self._repeat(self._attempt, operation, parameters, deadline, shown)

    async def pause(self, attempt: int, deadline: Deadline, because: Exception | None = None) -> None:
        """Wait before the next attempt: exponential backoff with jitter.

        Raises:
            TableUnavailableError: No time would be left for it. TableThrottledError if the table throttled the request.
        """
        seconds = self._jitter() * min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(attempt, 10))
        if deadline.remaining() <= seconds:
            raise self._unanswered(because) from because
        await asyncio.sleep(seconds)

    async def close(self) -> None:
        """Close the client after the running requests, without waiting for one that hangs."""
        await self._client.close(self._deadline)

    async def _repeat(
        self,
        attempt_it: Attempt,
        operation: str,
        parameters: Mapping[str, Any],
        deadline: Deadline,
        shown: tuple[str, ...],
    ) -> dict[str, Any]:
        lost_reply = False
        for attempt in itertools.count():
            try:
                return await attempt_it(operation, parameters, deadline)
            except FOREIGN_ERRORS as error:
                if is_failed_condition(error) or code_of(error) in shown:
                    raise RefusedError(code_of(error), reasons_of(error), after_lost_reply=lost_reply) from error
                if not may_pass(error):
                    raise translated(error, self.address) from error
                lost_reply = lost_reply or may_have_happened(error)
                await self.pause(attempt, deadline, because=error)
        raise AssertionError("unreachable")

    async def _attempt(self, operation: str, parameters: Mapping[str, Any], deadline: Deadline) -> dict[str, Any]:
        # The socket has timeouts of its own; looking up a host name or credentials has none.
        try:
            async with asyncio.timeout(max(0, deadline.remaining())):
                return await asyncio.wrap_future(self._submit(operation, parameters))
        except TimeoutError as error:
            raise self._unanswered(error) from error

    def _submit(self, operation: str, parameters: Mapping[str, Any]) -> Future[dict[str, Any]]:
        def request(client: Any) -> dict[str, Any]:
            if self.address.region is None:
                self.address = replace(self.address, region=_region(client))
            return getattr(client, operation)(**parameters)

        try:
            return self._client.submit(request)
        except RuntimeError as error:
            raise TableUnavailableError(f"{self.address} was closed") from error

    def _unanswered(self, because: Exception | None) -> TableUnavailableError:
        reason = code_of(because) if because else "others kept writing to the same item, or it answered in part only"
        kind = TableThrottledError if because is not None and is_too_much(because) else TableUnavailableError
        return kind(f"{self.address} did not answer within {self._deadline:g} s: {reason}")


def _region(client: Any) -> str | None:
    meta = getattr(client, "meta", None)
    return getattr(meta, "region_name", None)
