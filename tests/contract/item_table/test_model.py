"""Whatever is done to a table, in whatever order: it behaves like a dictionary."""

import asyncio
import os
from collections.abc import Awaitable, Iterator, Sequence
from datetime import timedelta
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from mcp_memory_server.domain.kernel.items import Delete, Item, Key, Put, Update, Write
from mcp_memory_server.errors import ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from tests.clock import FakeClock
from tests.contract.item_table.table_model import Row, TableModel
from tests.stores.tables import Address

R = TypeVar("R")

SORT_KEYS = ["a", "a#1", "a#2", "a$", "b", "é", "\ufb01", "🦊"]
SLOW_ENGINES = {"dynamodb-local": 40, "moto": 8, "dax": 8}  # examples; a request takes them 4 to 20 ms

operations = st.uuids(version=4).map(str)
sort_keys = st.sampled_from(SORT_KEYS)
versions = st.sampled_from(["any", "right", "right", "absent", "wrong"])
lifetimes = st.sampled_from([None, None, 0, 2, 5])
values = st.sampled_from(["x", "é🦊", 0.5, -3, True, None, b"\x00", ["list", 1], {"map": {"deep": 2}}])
bodies = st.fixed_dictionaries({}, optional={"text": values, "note": values, "count": st.integers(-5, 5)})
pushes = st.dictionaries(st.just("recent"), st.text("abc", min_size=1, max_size=3), max_size=1)
removals = st.sets(st.sampled_from(["text", "note"]))
kinds = st.sampled_from([Put, Put, Update, Update, Delete])


class TableMachine(RuleBasedStateMachine):
    """Does the same to the table and to the model, in a partition of its own."""

    partitions = iter(range(10**9))

    def __init__(self, table: ItemTable, clock: FakeClock) -> None:
        super().__init__()
        self.table, self.clock, self.model = table, clock, TableModel()
        self.pk = f"USER#{next(self.partitions)}"
        self.loop = asyncio.Runner()
        self.last_write: tuple[list[Write], str] | None = None
        self.cursor: tuple[str, bool, str, str] | None = None

    def teardown(self) -> None:
        self.loop.close()

    def run(self, work: Awaitable[R]) -> R:
        async def wait() -> R:
            return await work

        return self.loop.run(wait())

    def drawn(self, data: st.DataObject, sk: str) -> Write:
        """Draw a write for this item. Which version is right is known only now."""
        key, lifetime = Key(self.pk, sk), data.draw(lifetimes)
        version = self.model.row(key, self.clock()).version
        expected = {"any": None, "right": version, "absent": 0, "wrong": version + 1}[data.draw(versions)]
        expires_at = None if lifetime is None else self.clock() + timedelta(seconds=lifetime)
        match data.draw(kinds):
            case kind if kind is Put:
                return Put(key, data.draw(bodies), expected, expires_at)
            case kind if kind is Delete:
                return Delete(key, expected)
        removed = data.draw(removals)
        changed = {name: value for name, value in data.draw(bodies).items() if name not in {*removed, "count"}}
        count, push = {"count": data.draw(st.integers(-3, 3))}, data.draw(pushes)
        return Update(key, count, changed, tuple(removed), expected, expires_at, push)

    def modelled(self, writes: Sequence[Write]) -> bool:
        try:
            self.model.write(writes, self.clock())
        except ConflictError:
            return False
        return True

    @rule(data=st.data(), sk=sort_keys, operation=operations)
    def write_one(self, data: st.DataObject, sk: str, operation: str) -> None:
        write = self.drawn(data, sk)
        before = self.model.row(write.key, self.clock())
        if not self.modelled([write]):
            with pytest.raises(ConflictError):
                self.run(self.one(write, operation))
            return
        answer = self.run(self.one(write, operation))
        if isinstance(write, Delete):
            assert answer is bool(before.version)
        else:
            assert answer == before.version + 1
            self.last_write = [write], operation

    async def one(self, write: Write, operation: str) -> int | bool:
        match write:
            case Put():
                return await self.table.put(write, operation_id=operation)
            case Update():
                return (await self.table.update(write, operation_id=operation)).version
            case Delete():
                return await self.table.delete(write.key, expected_version=write.expected_version)

    @rule(data=st.data(), chosen=st.sets(sort_keys, min_size=1, max_size=5), operation=operations)
    def write_several(self, data: st.DataObject, chosen: set[str], operation: str) -> None:
        writes = [self.drawn(data, sk) for sk in chosen]
        if self.modelled(writes):
            self.run(self.table.write(writes, operation_id=operation))
            self.last_write = writes, operation
        else:
            with pytest.raises(ConflictError):
                self.run(self.table.write(writes, operation_id=operation))

    @precondition(lambda self: self.last_write is not None and self.is_remembered(self.last_write[0]))
    @rule()
    def repeat_the_last_write(self) -> None:
        """The invariant sees to it that nothing changed."""
        assert self.last_write is not None
        writes, operation = self.last_write
        if len(writes) == 1:
            self.run(self.one(writes[0], operation))
        else:
            self.run(self.table.write(writes, operation_id=operation))

    def is_remembered(self, writes: Sequence[Write]) -> bool:
        """An id is kept with the row: where every row is deleted or expired, the id is too."""
        return any(self.model.row(w.key, self.clock()).version for w in writes if not isinstance(w, Delete))

    @rule(chosen=st.sets(sort_keys, max_size=3))
    def delete_many(self, chosen: set[str]) -> None:
        keys = [Key(self.pk, sk) for sk in chosen]
        self.run(self.table.delete_many(keys))
        self.modelled([Delete(key) for key in keys])
        self.last_write = None

    @rule(seconds=st.sampled_from([1, 2, 5]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))

    @rule(chosen=st.sets(sort_keys))
    def get_many(self, chosen: set[str]) -> None:
        found = self.run(self.table.get_many([Key(self.pk, sk) for sk in chosen]))
        expected = {key: row for key, row in self.model.living(self.clock()).items() if key.sk in chosen}
        assert {key: _row(item) for key, item in found.items()} == expected

    @rule(prefix=st.sampled_from(["", "a", "a#", "é", "c"]), descending=st.booleans(), limit=st.integers(1, 4))
    def begin_to_read(self, prefix: str, descending: bool, limit: int) -> None:  # noqa: FBT001
        self.read(prefix, limit, descending=descending)

    @precondition(lambda self: self.cursor is not None)
    @rule(limit=st.integers(1, 4))
    def read_on(self, limit: int) -> None:
        assert self.cursor is not None
        prefix, descending, last, cursor = self.cursor
        self.read(prefix, limit, descending=descending, after=last, cursor=cursor)

    def read(
        self, prefix: str, limit: int, *, descending: bool, after: str | None = None, cursor: str | None = None
    ) -> None:
        page = self.run(self.table.query(self.pk, prefix=prefix, descending=descending, limit=limit, cursor=cursor))
        ahead = [key for key in self.in_order(descending=descending) if key.sk.startswith(prefix)]
        if after is not None:
            ahead = [key for key in ahead if key.sk != after and (key.sk.encode() < after.encode()) is descending]
        assert [item.key for item in page.items] == ahead[:limit]
        assert len(ahead) <= limit or page.cursor is not None
        self.cursor = None if page.cursor is None else (prefix, descending, page.items[-1].key.sk, page.cursor)

    def in_order(self, *, descending: bool) -> list[Key]:
        return sorted(self.model.living(self.clock()), key=lambda key: key.sk.encode(), reverse=descending)

    @invariant()
    def the_table_holds_what_the_model_holds(self) -> None:
        page = self.run(self.table.query(self.pk, limit=None))
        assert [item.key for item in page.items] == self.in_order(descending=False)
        assert {item.key: _row(item) for item in page.items} == self.model.living(self.clock())


def _row(item: Item) -> Row:
    return Row(dict(item.body), item.version, item.expires_at)


@pytest.fixture
def table(table_address: Address, clock: FakeClock) -> Iterator[ItemTable]:
    """Opened without the tests' event loop: each run of the machine brings its own."""
    table = asyncio.run(table_address.open(clock))
    yield table
    asyncio.run(table.close())


def test_the_table_behaves_like_a_dictionary(table: ItemTable, clock: FakeClock, engine: str) -> None:
    run_state_machine_as_test(
        lambda: TableMachine(table, clock),  # pyright: ignore[reportArgumentType] - any callable will do
        settings=settings(
            max_examples=SLOW_ENGINES.get(engine, 100),
            stateful_step_count=30,
            deadline=None,
            derandomize=bool(os.environ.get("CI")),
            print_blob=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
