"""Shared states in the table, which is the truth of them as of everything else.

1. A state that was acknowledged is in the table: nothing else holds it, so no other store can lose it.
2. Reads are fresh reads of the table: no cached state, which may be an older one, is taken for the newest.
3. A channel only wakes those who watch. Each then reads the table, so a lost message delays and hides nothing.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import SharedState
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.state_channel import StateChannel
from mcp_memory_server.schema.state_records import state_from, state_key, state_nonce, state_put


class TableStates:
    """Implements `SharedStateStore`: one item per session, read again by its watchers when it may have changed."""

    def __init__(
        self, table: ItemTable, now: Callable[[], datetime], *, poll: timedelta, channel: StateChannel | None = None
    ) -> None:
        """``poll`` is how often a watched state is read if no channel announces changes: no table does."""
        self._table = table
        self._now = now
        self._poll_seconds = poll.total_seconds()
        self._channel = channel

    async def read(self, scope: Scope) -> SharedState:
        """See the port."""
        return state_from(await self._table.get(state_key(scope)))

    async def write(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """See the port."""
        put = state_put(scope, value, expected_version, self._now())
        try:
            version = await self._table.put(put, operation_id=uuid4().hex)
        except ConflictError:
            raise ConflictError(f"the shared state is no longer at version {expected_version}; read it again") from None
        await self._announce(scope)
        return version

    async def drop(self, scope: Scope) -> None:
        """See the port."""
        await self._table.delete(state_key(scope))
        await self._announce(scope)

    def watch(self, scope: Scope) -> AsyncIterator[int]:
        """See the port. A version that exists at the start is yielded at once."""
        return self._versions(scope)

    async def _announce(self, scope: Scope) -> None:
        if self._channel is not None:
            await self._channel.announce(scope)

    async def _versions(self, scope: Scope) -> AsyncGenerator[int]:
        seen = state_nonce(None)
        hints = self._polling() if self._channel is None else self._channel.listen(scope)
        async for _ in hints:
            found = state_nonce(await self._table.get(state_key(scope)))
            if found != seen:
                seen = found
                yield found[0]

    async def _polling(self) -> AsyncGenerator[None]:
        while True:
            yield None
            await asyncio.sleep(self._poll_seconds)
