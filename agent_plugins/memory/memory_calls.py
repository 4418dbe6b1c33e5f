"""Calls of the memory by agents: each has a timeout, and raises nothing but our own errors."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent_plugins.memory.shared_memory import SharedMemory
from mcp_memory_server import Memory, MemoryServerError, UnavailableError

R = TypeVar("R")

logger = logging.getLogger(__name__)


async def call_memory(seconds: float, shared: SharedMemory, work: Callable[[Memory], Awaitable[R]]) -> R:
    """Run the work with the memory, which is opened if needed, within ``seconds``.

    Raises:
        UnavailableError: The memory could not be opened, did not answer in time, or failed unexpectedly.
        MemoryServerError: What the work itself raised.
    """
    try:
        async with asyncio.timeout(seconds):
            return await work(await _open(shared))
    except TimeoutError as error:
        raise UnavailableError("the memory did not answer in time") from error
    except MemoryServerError:
        raise
    except Exception as error:
        # A bug in the memory must not end an agent. Without the exception's text, which may quote a memory or a secret.
        frames = "".join(traceback.format_tb(error.__traceback__))
        logger.error("the memory failed with %s\n%s", type(error).__name__, frames)  # noqa: TRY400
        raise UnavailableError(f"an internal error of the memory ({type(error).__name__})") from error


async def _open(shared: SharedMemory) -> Memory:
    try:
        return await shared.get()
    except MemoryServerError as error:
        # The reason is in the log, for the operator; a model must not see it. Opening is retried later.
        raise UnavailableError("the memory could not be opened") from error
