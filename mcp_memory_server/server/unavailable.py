"""A memory that could not be opened, for a server that reports this instead of dying."""

from typing import NoReturn, cast

from mcp_memory_server.errors import MemoryServerError, UnavailableError
from mcp_memory_server.memory import Memory


class _Unavailable:
    """Raises the error, whatever is asked of it."""

    def __init__(self, error: MemoryServerError) -> None:
        self._error = error

    def __getattr__(self, name: str) -> NoReturn:
        raise UnavailableError(str(self._error)) from self._error


def unavailable_memory(error: MemoryServerError) -> Memory:
    """Return what stands for the memory: every call of a tool is answered with ``unavailable`` and the error."""
    return cast("Memory", _Unavailable(error))


def is_available(memory: Memory) -> bool:
    """Return whether this is a memory that was opened."""
    return not isinstance(cast("object", memory), _Unavailable)
