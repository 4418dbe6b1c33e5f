"""The tool log on a real file: nobody waits for it, it keeps no secrets, and it can be read by session and by time."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest

from mcp_memory_server.domain.conversations.tool_log import OUTPUT_CHARACTERS, ToolStatus
from mcp_memory_server.domain.kernel.items import KeyPage, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError, TableFullError, TableUnavailableError, TooLargeError
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema import keys
from mcp_memory_server.services.conversations.tool_log import ToolLog
from tests.clock import FakeClock
from tests.services.watched_table import WatchedTable

pytestmark = pytest.mark.anyio

SECOND = timedelta(seconds=1)
IN_SESSION = Scope("anna", "s1")


@pytest.fixture
async def tool_log(memory: Memory, clock: FakeClock) -> AsyncIterator[ToolLog]:
    log = ToolLog(memory.table, clock)
    yield log
    await log.close()


@pytest.fixture
def watched(memory: Memory) -> WatchedTable:
    return WatchedTable(memory.table)


@pytest.fixture
async def watched_log(watched: WatchedTable, clock: FakeClock) -> AsyncIterator[ToolLog]:
    log = ToolLog(watched.as_table, clock, most_waiting=5)
    yield log
    await log.close()


async def names(log: ToolLog, owner: Scope = IN_SESSION) -> list[str]:
    return [call.name for call in (await log.by_time(owner, limit=1000)).calls]


async def test_a_call_is_kept_as_it_was(tool_log: ToolLog, clock: FakeClock) -> None:
    inputs = {"query": "東京 🦊", "limit": 3, "exact": True, "ratio": 1.0, "": None, "deep": {"list": [1, {"x": []}]}}
    tool_log.record(
        IN_SESSION, "search", inputs, "x" * 2000, duration=timedelta(milliseconds=12.5), status=ToolStatus.TIMEOUT
    )
    assert await tool_log.drain()

    [call] = (await tool_log.by_time(IN_SESSION)).calls
    assert (call.name, call.inputs, call.output) == ("search", inputs, "x" * OUTPUT_CHARACTERS)
    assert (call.status, call.duration) == (ToolStatus.TIMEOUT, timedelta(milliseconds=12.5))
    assert (call.at, call.session_id) == (clock(), "s1")


async def test_a_call_is_listed_right_after_it_was_recorded(tool_log: ToolLog) -> None:
    for number in range(30):
        tool_log.record(IN_SESSION, f"tool {number}", {}, "", duration=SECOND)

        by_time, by_session = await tool_log.by_time(IN_SESSION), await tool_log.by_session(IN_SESSION, "s1")
        assert by_time.calls[0].name == by_session.calls[0].name == f"tool {number}"


class LateIndex(WatchedTable):
    """The real table, whose index lists nothing yet."""

    async def find(self, *_: object, **__: object) -> KeyPage:
        return KeyPage(())


async def test_a_call_that_the_index_does_not_list_yet_is_in_its_session(memory: Memory, clock: FakeClock) -> None:
    log = ToolLog(LateIndex(memory.table).as_table, clock)
    log.record(Scope("anna", "s2"), "other", {}, "", duration=SECOND)
    log.record(IN_SESSION, "search", {}, "", duration=SECOND)

    assert [call.name for call in (await log.by_session(IN_SESSION, "s1")).calls] == ["search"]
    await log.close()


async def test_a_list_that_lacks_what_is_not_written_yet_says_so(
    watched: WatchedTable, watched_log: ToolLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mcp_memory_server.services.conversations.tool_log.READ_WAITS_SECONDS", 0.01)
    released = threading.Event()
    watched.before["put"] = lambda: asyncio.to_thread(released.wait)
    watched_log.record(IN_SESSION, "search", {}, "", duration=SECOND)

    before = await watched_log.by_time(IN_SESSION)
    released.set()
    await watched_log.drain()
    after = await watched_log.by_time(IN_SESSION)

    assert (before.calls, len(before.missing)) == ((), 1)
    assert (len(after.calls), after.missing) == (1, ())


async def test_no_secret_is_stored(tool_log: ToolLog, memory: Memory) -> None:
    inputs = {"password": "hunter2", "headers": [{"X-Api-Key": "hunter3"}], "sql": "password='hunter4'"}

    tool_log.record(IN_SESSION, "login", inputs, 'got "token": "hunter5"', duration=SECOND)
    await tool_log.drain()

    [item] = (await memory.table.query(keys.tools_partition("anna"), limit=None)).items
    assert "hunter" not in json.dumps(dict(item.body))


async def test_what_is_changed_after_recording_is_kept_as_it_was_then(tool_log: ToolLog) -> None:
    inputs = {"query": "before"}
    tool_log.record(IN_SESSION, "search", inputs, "", duration=SECOND)
    inputs["query"] = "after"
    await tool_log.drain()

    [call] = (await tool_log.by_time(IN_SESSION)).calls
    assert call.inputs == {"query": "before"}


async def test_calls_come_newest_first_page_by_page_even_when_the_clock_stands(tool_log: ToolLog) -> None:
    for number in range(60):
        tool_log.record(IN_SESSION if number % 2 else Scope("anna", "s2"), f"tool {number:02}", {}, "", duration=SECOND)
    await tool_log.drain()

    pages = [page := await tool_log.by_session(IN_SESSION, "s1", limit=13)]
    while page.cursor is not None:
        pages.append(page := await tool_log.by_session(IN_SESSION, "s1", limit=13, cursor=page.cursor))

    assert await names(tool_log) == [f"tool {number:02}" for number in range(59, -1, -1)]
    assert [call.name for page in pages for call in page.calls] == [f"tool {n:02}" for n in range(59, 0, -2)]
    assert [len(page.calls) for page in pages] == [13, 13, 4]


async def test_a_call_outside_of_a_session_is_found_by_time_only(tool_log: ToolLog, anna: Scope) -> None:
    tool_log.record(anna, "search", {}, "", duration=SECOND)
    await tool_log.drain()

    assert await names(tool_log) == ["search"]
    assert (await tool_log.by_session(anna, "s1")).calls == ()


async def test_a_call_is_gone_after_thirty_days_and_makes_no_page_shorter(tool_log: ToolLog, clock: FakeClock) -> None:
    for number in range(3):
        tool_log.record(IN_SESSION, f"old {number}", {}, "", duration=SECOND)
    await tool_log.drain()
    clock.advance(timedelta(days=29))
    tool_log.record(IN_SESSION, "new", {}, "", duration=SECOND)
    await tool_log.drain()
    clock.advance(timedelta(days=1))

    page = await tool_log.by_session(IN_SESSION, "s1", limit=2)

    assert [call.name for call in page.calls] == ["new"]
    assert page.cursor is None
    assert await names(tool_log) == ["new"]


async def test_nobody_sees_the_calls_of_another(tool_log: ToolLog, memory: Memory) -> None:
    ben = Scope("ben", "s1")
    tool_log.record(IN_SESSION, "mine", {}, "", duration=SECOND)
    await tool_log.drain()
    forged = {"name": "forged", "ix_pk": keys.tools_index(IN_SESSION, "s1"), "ix_sk": "01JNB3X8M0ABCDEFGHJKMNPQRS"}
    await memory.table.put(Put(keys.tool_call_key(ben, "01JNB3X8M0ABCDEFGHJKMNPQRS"), forged))

    assert (await tool_log.by_session(ben, "s1")).calls == ()
    assert [call.name for call in (await tool_log.by_session(IN_SESSION, "s1", limit=1)).calls] == ["mine"]


async def test_calls_from_many_threads_and_loops_are_all_written(memory: Memory, clock: FakeClock) -> None:
    log = ToolLog(memory.table, clock)

    async def call(name: str) -> None:
        log.record(IN_SESSION, name, {}, "", duration=SECOND)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: asyncio.run(call(f"tool {number:03}")), range(200)))
    await log.close()

    assert sorted(await names(log)) == [f"tool {number:03}" for number in range(200)]
    assert log.lost == 0


async def test_what_waits_together_is_written_together(watched: WatchedTable, clock: FakeClock) -> None:
    log, released = ToolLog(watched.as_table, clock), threading.Event()
    watched.before["put"] = lambda: asyncio.to_thread(released.wait)
    for number in range(101):
        log.record(IN_SESSION, f"tool {number}", {}, "", duration=SECOND)

    released.set()
    await log.close()

    assert watched.calls["put"] == 101
    assert len(await names(log)) == 101


async def test_recording_never_waits_and_gives_up_the_oldest_when_too_many_wait(
    watched: WatchedTable, watched_log: ToolLog
) -> None:
    released, begun = threading.Event(), threading.Event()

    async def hold() -> None:
        begun.set()
        await asyncio.to_thread(released.wait)

    watched.before["put"] = hold
    watched_log.record(IN_SESSION, "in hand", {}, "", duration=SECOND)
    await asyncio.to_thread(begun.wait)

    for number in range(12):
        watched_log.record(IN_SESSION, f"tool {number}", {}, "", duration=SECOND)
    lost = watched_log.lost
    released.set()
    await watched_log.drain()

    assert lost == 7
    assert await names(watched_log) == ["tool 11", "tool 10", "tool 9", "tool 8", "tool 7", "in hand"]


@pytest.mark.parametrize("error", [TableUnavailableError, TableFullError])
async def test_a_table_that_is_gone_for_a_moment_loses_nothing(
    watched: WatchedTable, watched_log: ToolLog, error: type[Exception]
) -> None:
    async def fail() -> None:
        raise error("not now")

    watched.before["put"] = fail
    watched_log.record(IN_SESSION, "search", {}, "", duration=SECOND)
    await watched_log.drain()

    assert await names(watched_log) == ["search"]
    assert watched_log.lost == 0


class SilentTable(WatchedTable):
    """The real table, of which the first reply to a put gets lost."""

    async def put(self, put: Put, *, operation_id: str) -> None:
        self.calls["put"] += 1
        await self._table.put(put, operation_id=operation_id)
        if self.calls["put"] == 1:
            raise TableUnavailableError("the reply is lost")


async def test_a_write_whose_reply_was_lost_is_kept_once(memory: Memory, clock: FakeClock) -> None:
    silent = SilentTable(memory.table)
    log = ToolLog(silent.as_table, clock)
    log.record(IN_SESSION, "search", {}, "", duration=SECOND)
    await log.close()

    assert await names(log) == ["search"]
    assert (log.lost, silent.calls["put"]) == (0, 2)


async def test_an_entry_that_is_refused_is_counted_and_the_others_are_kept(
    watched: WatchedTable, watched_log: ToolLog
) -> None:
    async def refuse() -> None:
        raise TooLargeError("too large")

    watched.before["put"] = refuse
    watched_log.record(IN_SESSION, "first", {}, "", duration=SECOND)
    await watched_log.drain()
    watched_log.record(IN_SESSION, "second", {}, "", duration=SECOND)
    await watched_log.drain()

    assert await names(watched_log) == ["second"]
    assert watched_log.lost == 1


async def test_what_comes_after_closing_is_counted_as_lost(tool_log: ToolLog) -> None:
    tool_log.record(IN_SESSION, "before", {}, "", duration=SECOND)
    await tool_log.close()
    tool_log.record(IN_SESSION, "after", {}, "", duration=SECOND)
    await tool_log.close()

    assert await names(tool_log) == ["before"]
    assert tool_log.lost == 1


async def test_what_can_never_be_right_is_refused_at_once(tool_log: ToolLog) -> None:
    with pytest.raises(InvalidRequestError, match="tool name"):
        tool_log.record(IN_SESSION, " ", {}, "", duration=SECOND)
    with pytest.raises(InvalidRequestError, match="duration"):
        tool_log.record(IN_SESSION, "search", {}, "", duration=-SECOND)
    with pytest.raises(InvalidRequestError, match="limit"):
        await tool_log.by_session(IN_SESSION, "s1", limit=0)


async def test_a_user_who_is_forgotten_has_no_tool_calls_and_no_chats(
    tool_log: ToolLog, memory: Memory, anna: Scope
) -> None:
    ben = Scope("ben", "s1")
    for owner in (IN_SESSION, ben):
        tool_log.record(owner, "search", {"query": "hotels"}, "", duration=SECOND)
        await memory.chats.create(owner, "travel")
        await memory.chats.renew(owner, "travel")
    await tool_log.drain()

    removed = (await memory.erasure.forget_user(anna)).removed

    assert removed == 3
    assert await names(tool_log) == []
    assert await memory.chats.active(anna, "travel") is None
    assert (await memory.chats.past(anna, "travel")).chats == ()
    assert (await tool_log.by_session(anna, "s1")).calls == ()
    assert await names(tool_log, ben) == ["search"]
    assert await memory.chats.active(ben, "travel") is not None
