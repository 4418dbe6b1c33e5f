"""Whatever processes do to one session, in whatever order: every turn is there once, in order, and counted exactly."""

import asyncio
import os
import random
from collections.abc import Awaitable, Coroutine
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.hot_sessions import MOST_PARTITIONS
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import Turn, View
from mcp_memory_server.errors import TableUnavailableError
from mcp_memory_server.schema.turn_records import TURNS, session_partition
from mcp_memory_server.services.sessions.stored_turns import StoredTurns, TurnPage
from tests.clock import FakeClock
from tests.services.turns import Faults, Moments, Speaker

R = TypeVar("R")

PROCESSES = 3
EXAMPLES = int(os.environ.get("MODEL_EXAMPLES", "60"))
processes = st.integers(0, PROCESSES - 1)


class Conversation(RuleBasedStateMachine):
    """Processes with a table of their own each, over one file, in a session that no other run knows."""

    sessions = iter(range(10**9))

    def __init__(self, tables: list[SqliteItemTable], clock: FakeClock) -> None:
        super().__init__()
        self.tables, self.clock, self.moments = tables, clock, Moments()
        self.scope = Scope("anna", f"chat {next(self.sessions)}")
        self.loop = asyncio.Runner()
        self.speaker = Speaker(clock)
        self.faults = [Faults(table) for table in tables]
        self.alive = [self.started(number) for number in range(PROCESSES)]
        self.acknowledged: dict[str, Turn] = {}
        self.held: list[tuple[Turn, bool]] = []

    def teardown(self) -> None:
        self.loop.close()

    def started(self, number: int) -> StoredTurns:
        return StoredTurns(self.faults[number].as_table, self.clock, monotonic=self.moments)

    def run(self, work: Awaitable[R]) -> R:
        async def wait() -> R:
            return await work

        return self.loop.run(wait())

    async def keep(self, number: int, turn: Turn, *, again: bool = False) -> None:
        await self.alive[number].put(TurnWrite(self.scope, turn, f"op of {turn.id}"), again=again)
        self.acknowledged[turn.id] = turn

    @rule(number=processes, times=st.integers(1, 4))
    def say(self, number: int, times: int) -> None:
        for _ in range(times):
            self.run(self.keep(number, self.speaker.says("Hello", tokens=random.randint(0, 9))))

    @rule()
    def hold_a_turn_back(self) -> None:
        """It has its id, and is put when later ones are there already."""
        self.held.append((self.speaker.says("Late", tokens=3), False))

    @rule(number=processes)
    def say_what_was_held_back(self, number: int) -> None:
        if self.held:
            turn, has_unknown_outcome = self.held.pop()
            self.run(self.keep(number, turn, again=has_unknown_outcome))

    @rule(number=processes, happens=st.booleans(), way=st.sampled_from(["put", "write"]))
    def say_and_get_no_answer(self, number: int, way: str, *, happens: bool) -> None:
        faults, turn = self.faults[number], self.speaker.says("Lost?", tokens=5)
        (faults.after if happens else faults.instead)[way] = TableUnavailableError("no answer")
        try:
            self.run(self.keep(number, turn))
        except TableUnavailableError:
            self.held.append((turn, True))
        faults.after.clear()
        faults.instead.clear()

    @rule(number=processes, which=st.integers(0, 1000))
    def say_it_again(self, number: int, which: int) -> None:
        if self.acknowledged:
            turn = self.acknowledged[sorted(self.acknowledged)[which % len(self.acknowledged)]]
            self.run(self.keep(number, turn, again=True))

    @rule(chosen=st.lists(processes, min_size=2, max_size=8), raised=st.integers(0, 4), counted=st.booleans())
    def do_much_at_once(self, chosen: list[int], raised: int, *, counted: bool) -> None:
        work: list[Coroutine[Any, Any, Any]] = [self.keep(number, self.speaker.says("Together")) for number in chosen]
        if raised:
            work.insert(1, self.alive[chosen[0]].raise_partitions(self.scope, raised))
        if counted:
            work += [self.alive[number].write_counts(all_of_them=True) for number in set(chosen)]
        before = len(self.acknowledged)
        page = self.alive[chosen[-1]].last(self.scope, 4, View.CONTEXT)

        async def together() -> TurnPage:
            told, *_ = await asyncio.gather(page, *work)
            return told

        assert before <= self.run(together()).turn_count <= len(self.stored())

    @rule(number=processes, to=st.integers(1, 10))
    def raise_partitions(self, number: int, to: int) -> None:
        before = self.run(self.alive[number].last(self.scope, 1, View.CONTEXT)).partitions
        assert self.run(self.alive[number].raise_partitions(self.scope, to)) == max(to, before)

    @rule(number=processes, everything=st.booleans())
    def write_counts(self, number: int, *, everything: bool) -> None:
        self.run(self.alive[number].write_counts(all_of_them=everything))

    @rule(number=processes, happens=st.booleans(), everything=st.booleans())
    def write_counts_and_get_no_answer(self, number: int, *, happens: bool, everything: bool) -> None:
        faults = self.faults[number]
        (faults.after if happens else faults.instead)["update"] = TableUnavailableError("no answer")
        with suppress(TableUnavailableError):
            self.run(self.alive[number].write_counts(all_of_them=everything))
        faults.after.clear()
        faults.instead.clear()

    @rule(number=processes)
    def kill_and_start_again(self, number: int) -> None:
        self.alive[number] = self.started(number)

    @rule(seconds=st.sampled_from([2, 6, 40, 31 * 60, 61 * 60]))
    def wait(self, seconds: int) -> None:
        self.clock.advance(timedelta(seconds=seconds))
        self.moments.moment += seconds

    @rule(number=processes, turns=st.integers(1, 12))
    def read_back(self, number: int, turns: int) -> None:
        page = self.run(self.alive[number].last(self.scope, turns, View.EVERYTHING))
        told = list(page.turns)
        while page.cursor is not None:
            page = self.run(self.alive[number].before(self.scope, page.cursor, turns, View.EVERYTHING))
            told = [*page.turns, *told]
        assert [turn.id for turn in told] == sorted(self.stored())

    @rule(number=processes, turns=st.integers(1, 5))
    def look_up_operations(self, number: int, turns: int) -> None:
        newest = sorted(self.stored())[-turns:]
        assert self.run(self.alive[number].recent(self.scope, turns)) == {f"op of {id_}": id_ for id_ in newest}

    def stored(self) -> dict[str, int]:
        """Return what the table holds, wherever it lies."""
        found: dict[str, int] = {}
        for number in range(MOST_PARTITIONS):
            partition = session_partition(self.scope, number)
            for item in self.run(self.tables[0].query(partition, prefix=TURNS, limit=None)).items:
                turn_id = item.key.sk.removeprefix(TURNS)
                assert turn_id not in found, "a turn is in two places"
                found[turn_id] = int(str(item.body["token_count"]))
        return found

    @invariant()
    def every_count_is_exact_and_every_acknowledged_turn_is_there(self) -> None:
        stored = self.stored()
        assert set(self.acknowledged) <= set(stored)
        for process in self.alive:
            page = self.run(process.last(self.scope, 3, View.CONTEXT))
            assert (page.turn_count, page.token_count) == (len(stored), sum(stored.values()))
            assert [turn.id for turn in page.turns] == sorted(stored)[-3:]
            assert page.answered == page.partitions


def test_every_turn_is_there_once_and_counted_exactly(tmp_path: Path, clock: FakeClock) -> None:
    tables = [asyncio.run(SqliteItemTable.open(tmp_path / "memory.db", now=clock)) for _ in range(PROCESSES)]
    run_state_machine_as_test(
        lambda: Conversation(tables, clock),  # pyright: ignore[reportArgumentType] - any callable will do
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=25,
            deadline=None,
            derandomize=bool(os.environ.get("CI")),
            print_blob=True,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )
    for table in tables:
        asyncio.run(table.close())
