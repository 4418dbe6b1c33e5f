"""Turns to be stored, and processes that store them."""

from typing import Any

from mcp_memory_server.domain.kernel.items import Put, Update, Write
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.turn_records import META
from mcp_memory_server.services.sessions.stored_turns import StoredTurns
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

CHAT = Scope("anna", "chat 1")


class Moments:
    """A monotonic clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.moment = 0.0

    def __call__(self) -> float:
        return self.moment


class Speaker:
    """Makes turns whose ids rise, whoever stores them."""

    def __init__(self, clock: FakeClock) -> None:
        self._clock = clock
        self.last: str | None = None

    def says(self, text: str, *, tokens: int = 2) -> Turn:
        self.last = ulid_after(self.last, self._clock())
        return Turn(self.last, Role.USER, text, token_count=tokens)


class Faults(WatchedTable):
    """The real table, whose answers may get lost: after the write, or before it."""

    def __init__(self, table: ItemTable) -> None:
        super().__init__(table)
        self.meta_writes = 0
        self.after: dict[str, Exception] = {}
        self.instead: dict[str, Exception] = {}

    def __getattr__(self, name: str) -> Any:
        call = super().__getattr__(name)

        async def with_faults(*arguments: Any, **named: Any) -> Any:
            self.meta_writes += sum(_is_for_meta(write) for write in _writes_of(arguments))
            if (error := self.instead.pop(name, None)) is not None:
                raise error
            answer = await call(*arguments, **named)
            if (error := self.after.pop(name, None)) is not None:
                raise error
            return answer

        return with_faults


def _writes_of(arguments: tuple[Any, ...]) -> list[Write]:
    first = arguments[0] if arguments else None
    if isinstance(first, Put | Update):
        return [first]
    return list(first) if isinstance(first, list) else []


def _is_for_meta(write: Any) -> bool:
    return isinstance(write, Put | Update) and write.key.sk == META


async def put(stored: StoredTurns, turn: Turn, scope: Scope = CHAT) -> None:
    await stored.put(TurnWrite(scope, turn, f"op of {turn.id}"))
