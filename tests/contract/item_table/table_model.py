"""The item table as a plain dictionary: what the port promises, in the fewest lines."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mcp_memory_server.domain.kernel.items import Delete, Key, Put, Update, Value, Write, after_push
from mcp_memory_server.errors import ConflictError


@dataclass(frozen=True)
class Row:
    body: dict[str, Value]
    version: int = 0
    expires_at: datetime | None = None


NOTHING = Row({})


class TableModel:
    """Expects whole seconds and right requests: what is refused is tested elsewhere."""

    def __init__(self) -> None:
        self._rows: dict[Key, Row] = {}

    def row(self, key: Key, now: datetime) -> Row:
        row = self._rows.get(key, NOTHING)
        return NOTHING if row.expires_at is not None and row.expires_at <= now else row

    def living(self, now: datetime) -> dict[Key, Row]:
        return {key: row for key in self._rows if (row := self.row(key, now)).version}

    def write(self, writes: Sequence[Write], now: datetime) -> None:
        for write in writes:
            if write.expected_version not in (None, self.row(write.key, now).version):
                raise ConflictError
        self._rows |= {write.key: _after(write, self.row(write.key, now)) for write in writes}


def _after(write: Write, before: Row) -> Row:
    match write:
        case Delete():
            return NOTHING
        case Put():
            return Row(dict(write.body), before.version + 1, write.expires_at)
        case Update():
            body = {name: value for name, value in before.body.items() if name not in write.remove} | dict(write.set)
            body |= after_push(before.body, write.push)
            for name, amount in write.add.items():
                number = body.get(name, 0)
                assert isinstance(number, int | float)
                body[name] = number + amount
            return replace(
                before, body=body, version=before.version + 1, expires_at=write.expires_at or before.expires_at
            )
