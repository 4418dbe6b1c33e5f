"""Read, decide, write: again when someone else wrote first."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mcp_memory_server.errors import ConflictError, UnavailableError

R = TypeVar("R")

ATTEMPTS = 12
LONGEST_WAIT_SECONDS = 0.4


async def until_it_holds(attempt: Callable[[], Awaitable[R]]) -> R:
    """Run the attempt until no other writer was in its way, with a growing, random wait in between.

    Raises:
        UnavailableError: Other writers were in the way every time. Nothing was written.
    """
    for number in range(ATTEMPTS):
        try:
            return await attempt()
        except ConflictError:
            longest = min(LONGEST_WAIT_SECONDS, 0.005 * 2**number)
            await asyncio.sleep(random.uniform(0, longest))  # noqa: S311 - no secret depends on it
    raise UnavailableError("others kept writing the same memory; nothing was written. Try again in a moment")
