"""Read, decide, write: again when someone else wrote first."""

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import uuid4

from mcp_memory_server.domain.kernel.item_checks import check_operation_id
from mcp_memory_server.errors import ConflictError, UnavailableError

R = TypeVar("R")

ATTEMPTS = 12
LONGEST_WAIT_SECONDS = 0.4


def operation_of(operation_id: str | None, *content: str) -> str:
    """Return the id under which a write is recognised when it is repeated.

    The content is part of it: a caller may save several memories under one id of its own, and none is taken for
    the repetition of another.
    """
    check_operation_id(operation_id)
    if operation_id is None:
        return uuid4().hex
    return hashlib.sha256("\n".join((operation_id, *content)).encode()).hexdigest()[:32]


async def retry_on_conflict(attempt: Callable[[], Awaitable[R]]) -> R:
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
