"""How long an append waits for the table: not at all when it has just been found not to answer."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mcp_memory_server.errors import TableUnavailableError, UnavailableError

R = TypeVar("R")

TIMEOUT_SECONDS = 1.0
REST_SECONDS = 1.0


class TableTimeout:
    """Asks the table within a short time, and leaves it alone for a moment when that failed.

    Where there is no outbox to turn to, the table gets all the time that it takes for itself.
    """

    def __init__(self, *, has_outbox: bool, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._has_outbox = has_outbox
        self._monotonic = monotonic
        self._rests_until = float("-inf")

    async def ask(self, question: Callable[[], Awaitable[R]]) -> R:
        """Return the answer.

        Raises:
            UnavailableError: There was none in time, or it was not asked because there was none a moment ago.
        """
        if not self._has_outbox:
            return await question()
        if self._monotonic() < self._rests_until:
            raise TableUnavailableError("the table did not answer a moment ago")
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                return await question()
        except TimeoutError as error:
            self._rest()
            raise TableUnavailableError(f"the table did not answer within {TIMEOUT_SECONDS:g} s") from error
        except UnavailableError:
            self._rest()
            raise

    def _rest(self) -> None:
        self._rests_until = self._monotonic() + REST_SECONDS
