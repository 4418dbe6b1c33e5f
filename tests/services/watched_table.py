"""The real table, watched: how often each method was called, and something else done just before one of them."""

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, cast

from mcp_memory_server.errors import TableUnavailableError
from mcp_memory_server.ports.item_table import ItemTable

Interruption: TypeAlias = Callable[[], Awaitable[object]]


class WatchedTable:
    """Passes every call on to the real table."""

    def __init__(self, table: ItemTable) -> None:
        self._table = table
        self.calls: Counter[str] = Counter()
        self.before: dict[str, Interruption] = {}
        self.loses_reply_of: set[str] = set()

    @property
    def as_table(self) -> ItemTable:
        return cast("ItemTable", self)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._table, name)

        async def call(*arguments: Any, **named: Any) -> Any:
            self.calls[name] += 1
            if (interruption := self.before.pop(name, None)) is not None:
                await interruption()
            answer = await method(*arguments, **named)
            if name in self.loses_reply_of:
                self.loses_reply_of.remove(name)
                raise TableUnavailableError("the reply was lost")
            return answer

        return call
