"""Shared states in the table, where no session store holds them."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import SharedState
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.state_records import state_from, state_key, state_nonce, state_put


class TableStates:
    """Implements `SharedStateStore`: one item per session, which watchers read again and again."""

    def __init__(self, table: ItemTable, now: Callable[[], datetime], *, poll: timedelta) -> None:
        """``poll`` is how often a watched state is read: no table announces its changes."""
        self._table = table
        self._now = now
        self._poll_seconds = poll.total_seconds()

    async def read(self, scope: Scope) -> SharedState:
        """See the port."""
        return state_from(await self._table.get(state_key(scope)))

    async def write(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """See the port."""
        put = state_put(scope, value, expected_version, self._now())
        try:
            return await self._table.put(put, operation_id=uuid4().hex)
        except ConflictError:
            raise ConflictError(f"the shared state is no longer at version {expected_version}; read it again") from None

    async def drop(self, scope: Scope) -> None:
        """See the port."""
        await self._table.delete(state_key(scope))

    def watch(self, scope: Scope) -> AsyncIterator[int]:
        """See the port. A version that exists at the start is yielded at once."""
        return self._versions(scope)

    async def _versions(self, scope: Scope) -> AsyncGenerator[int]:
        seen = state_nonce(None)
        while True:
            found = state_nonce(await self._table.get(state_key(scope)))
            if found != seen:
                seen = found
                yield found[0]
            await asyncio.sleep(self._poll_seconds)
