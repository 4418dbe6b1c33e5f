"""The session of the OpenAI Agents SDK: the items of a conversation, each stored by itself."""

import asyncio
import itertools
import json
import time
from collections.abc import Sequence
from typing import Any, cast
from urllib.parse import quote
from uuid import uuid4

from agents.items import TResponseInputItem
from agents.memory import SessionSettings

from agent_plugins.memory.shared_memory import Source, shared_memory
from mcp_memory_server import Memory, NewTurn, NotFoundError, Role, Scope

PREFIX = "openai-agents/"
READ_AT_ONCE = 16

_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT}
_numbers = itertools.count()


class MemorySession:
    """The conversation of a user, for `Runner.run(agent, input, session=MemorySession("ana", "chat-7"))`.

    Items come back exactly as they were added, and are kept until they are removed. What user and agent said is
    recalled by every other client, and the next conversation gets a hand-off. A session id alone opens nothing: it
    belongs to the user.
    """

    session_settings: SessionSettings | None

    def __init__(
        self, user_id: str, session_id: str, *, memory: Source = None, session_settings: SessionSettings | None = None
    ) -> None:
        self.session_id = session_id
        self.session_settings = session_settings
        self._scope = Scope(user_id, session_id)
        self._prefix = f"{PREFIX}{quote(session_id, safe='')}/"
        self._shared = shared_memory(memory)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return the items in the order in which they were added, or only the last ones."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        if limit is not None and limit <= 0:
            return []
        memory = await self._shared.get()
        names = await memory.snapshots.names(self._scope, self._prefix)
        return await self._read(memory, names if limit is None else names[-limit:])

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Append items, and what was said in them as turns."""
        memory = await self._shared.get()
        for item in items:
            # Their order is that of the names. Two processes that append at the same time lose nothing.
            name = f"{self._prefix}{time.time_ns():020}-{next(_numbers):08}-{uuid4().hex[:8]}"
            data = json.dumps(item, ensure_ascii=False, default=_plain).encode()
            await memory.snapshots.write(self._scope, name, data, life=None)
            turn = _turn(cast("dict[str, Any]", item))
            if turn is not None:
                await memory.conversations.append(self._scope, turn, operation_id=name)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it; None if there is none. What was said stays in the memory."""
        memory = await self._shared.get()
        for name in reversed(await memory.snapshots.names(self._scope, self._prefix)):
            found = await self._read(memory, [name])
            if await memory.snapshots.delete(self._scope, name) and found:
                return found[0]
        return None

    async def clear_session(self) -> None:
        """Remove all items. What was said stays in the memory; `forget` removes it."""
        memory = await self._shared.get()
        for name in await memory.snapshots.names(self._scope, self._prefix):
            await memory.snapshots.delete(self._scope, name)

    async def _read(self, memory: Memory, names: Sequence[str]) -> list[TResponseInputItem]:
        items: list[TResponseInputItem] = []
        for first in range(0, len(names), READ_AT_ONCE):
            read = await asyncio.gather(*(self._item(memory, name) for name in names[first : first + READ_AT_ONCE]))
            items += [item for item in read if item is not None]
        return items

    async def _item(self, memory: Memory, name: str) -> TResponseInputItem | None:
        try:
            return json.loads(await memory.snapshots.read(self._scope, name))
        except NotFoundError:  # it was removed in the meantime
            return None


def _turn(item: dict[str, Any]) -> NewTurn | None:
    """Return what a message says; None for calls of tools, their results, and reasoning."""
    role = _ROLES.get(str(item.get("role")))
    content = item.get("content")
    if role is None or item.get("type", "message") != "message":
        return None
    parts = content if isinstance(content, list) else [{"text": content}]
    text = "\n".join(str(part["text"]) for part in parts if isinstance(part, dict) and part.get("text"))
    return NewTurn(role, text) if text.strip() else None


def _plain(value: Any) -> Any:
    """Return a value of the SDK as JSON knows it."""
    return value.model_dump(exclude_unset=True)
