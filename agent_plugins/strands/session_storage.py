"""Sessions of Strands in the same table as the memory."""

import builtins
from collections.abc import Awaitable, Callable
from typing import TypeVar

from strands.storage import Storage
from strands.types.exceptions import StorageError

from agent_plugins.memory.arguments import named_user
from agent_plugins.memory.shared_memory import Source, shared_memory
from mcp_memory_server import MemoryServerError, NotFoundError, Scope

R = TypeVar("R")


class SessionStorage(Storage):
    """Stores the session data of Strands for one user, of any size, for 90 days after the last write.

    Agent(session_manager=SnapshotSessionManager("chat-7", storage=SessionStorage("ana")))

    It belongs to the user: a session id alone opens nothing, and forgetting the user deletes it. ``user`` is the old
    name of ``user_id``.
    """

    def __init__(self, user_id: str | None = None, *, memory: Source = None, **old_names: str | None) -> None:
        self._scope = Scope(named_user(user_id, old_names))
        self._memory = shared_memory(memory)

    async def write(self, key: str, data: bytes) -> None:
        """Store the data, in place of an earlier version."""
        await _translated(lambda: self._write(key, data))

    async def read(self, key: str) -> bytes | None:
        """Return the data, None if there is none."""
        return await _translated(lambda: self._read(key))

    async def delete(self, key: str) -> None:
        """Remove the data, if there is any."""
        await _translated(lambda: self._delete(key))

    async def list(self, query: str = "") -> builtins.list[str]:
        """Return the keys that begin with this, in order."""
        return await _translated(lambda: self._list(query))

    async def _write(self, key: str, data: bytes) -> None:
        await (await self._memory.get()).snapshots.write(self._scope, key, data)

    async def _read(self, key: str) -> bytes | None:
        try:
            return await (await self._memory.get()).snapshots.read(self._scope, key)
        except NotFoundError:
            return None

    async def _delete(self, key: str) -> None:
        await (await self._memory.get()).snapshots.delete(self._scope, key)

    async def _list(self, query: str) -> builtins.list[str]:
        return await (await self._memory.get()).snapshots.names(self._scope, query)


async def _translated(work: Callable[[], Awaitable[R]]) -> R:
    try:
        return await work()
    except MemoryServerError as error:
        raise StorageError(str(error)) from error
