"""Shared states in Redis: a hash beside the session, and a channel that announces new versions."""

import json
from collections.abc import AsyncIterator
from typing import Any

from mcp_memory_server.adapters.redis.address import Client
from mcp_memory_server.adapters.redis.calls import Calls
from mcp_memory_server.adapters.redis.keys import keys_of
from mcp_memory_server.adapters.redis.scripts import DROP_STATE, WRITE_STATE
from mcp_memory_server.adapters.redis.times import milliseconds
from mcp_memory_server.adapters.redis.watching import versions
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import SharedState, state_text
from mcp_memory_server.domain.sessions.limits import STATE_LIFE
from mcp_memory_server.errors import ConflictError


class RedisSharedStateStore:
    """Implements the port; reading and writing are one round trip each."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._space = calls.address.space

    async def read(self, scope: Scope) -> SharedState:
        """See the port."""
        keys = keys_of(scope, self._space)
        version, value = await self._calls.run(lambda client: _fields(client, keys.state, "version", "value"))
        return SharedState(None, 0) if version is None else SharedState(json.loads(value), int(version))

    async def write(self, scope: Scope, value: Any, *, expected_version: int) -> int:
        """See the port."""
        keys, text = keys_of(scope, self._space), state_text(value)
        arguments = (expected_version, text, milliseconds(STATE_LIFE), keys.channel)
        version: int = await self._calls.run(lambda client: WRITE_STATE.run(client, keys.cached, *arguments))
        if not version:
            raise ConflictError(f"the shared state is no longer at version {expected_version}; read it again")
        return version

    async def drop(self, scope: Scope) -> None:
        """See the port."""
        keys = keys_of(scope, self._space)
        await self._calls.run(lambda client: DROP_STATE.run(client, keys.cached, keys.channel))

    def watch(self, scope: Scope) -> AsyncIterator[int]:
        """See the port. A version that exists at the start is yielded at once; a lost server is reconnected to."""
        keys = keys_of(scope, self._space)

        async def current() -> int:
            (version,) = await self._calls.run(lambda client: _fields(client, keys.state, "version"))
            return int(version or 0)

        return versions(self._calls, keys.channel, current)


def _fields(client: Client, key: str, *names: str) -> list[Any]:
    found: Any = client.hmget(key, list(names))
    return found
