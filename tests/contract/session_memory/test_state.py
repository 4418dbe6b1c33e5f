"""The state that agents share: versions, conflicts, and being told of changes."""

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import SharedState
from mcp_memory_server.errors import ConflictError, InvalidRequestError
from tests.stores.sessions import OpenSessions, watching

pytestmark = pytest.mark.anyio

INCREMENTS = 50
PATIENCE = 30


async def next_version(versions: AsyncIterator[int]) -> int:
    return await asyncio.wait_for(anext(versions), PATIENCE)


async def test_nothing_is_shared_at_first(session_memory: OpenSessions, scope: Scope) -> None:
    assert await session_memory.states.read(scope) == SharedState(None, 0)


@pytest.mark.parametrize(
    "value",
    [None, 0, "", [], {}, {"step": [1, 2.5, None, True, "🦊\ud800"], "deep": {"a": {}}}, "x" * 100_000],
    ids=repr,
)
async def test_a_state_is_read_as_it_was_written(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope, value: object
) -> None:
    assert await session_memory.states.write(scope, value, expected_version=0) == 1

    assert await other_client.states.read(scope) == SharedState(value, 1)


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}, b"bytes"], ids=["object", "nan", "set", "bytes"])
async def test_what_is_no_plain_data_is_refused(session_memory: OpenSessions, scope: Scope, value: object) -> None:
    with pytest.raises(InvalidRequestError, match="plain data"):
        await session_memory.states.write(scope, value, expected_version=0)

    assert await session_memory.states.read(scope) == SharedState(None, 0)


@pytest.mark.parametrize("expected", [0, 1, 3])
async def test_another_version_than_the_expected_is_a_conflict_and_changes_nothing(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope, expected: int
) -> None:
    await session_memory.states.write(scope, "first", expected_version=0)
    await other_client.states.write(scope, "second", expected_version=1)

    with pytest.raises(ConflictError):
        await session_memory.states.write(scope, "late", expected_version=expected)

    assert await session_memory.states.read(scope) == SharedState("second", 2)


async def test_fifty_concurrent_increments_are_fifty(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    async def increment(memory: OpenSessions) -> None:
        while True:
            state = await memory.states.read(scope)
            try:
                await memory.states.write(scope, (state.value or 0) + 1, expected_version=state.version)
            except ConflictError:
                continue
            return

    await asyncio.gather(*(increment((session_memory, other_client)[number % 2]) for number in range(INCREMENTS)))

    assert await session_memory.states.read(scope) == SharedState(INCREMENTS, INCREMENTS)


async def test_a_watcher_is_told_of_what_another_client_writes(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    async with watching(session_memory, scope) as versions:
        first = asyncio.create_task(next_version(versions))
        await other_client.states.write(scope, "one", expected_version=0)
        assert await first == 1

        await other_client.states.write(scope, "two", expected_version=1)
        assert await next_version(versions) == 2


async def test_a_watcher_that_falls_behind_gets_to_the_newest_version_in_the_end(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    async with watching(session_memory, scope) as versions:
        await other_client.states.write(scope, 1, expected_version=0)
        seen = [await next_version(versions)]
        for version in range(1, 20):
            await other_client.states.write(scope, version + 1, expected_version=version)

        while seen[-1] < 20:
            seen.append(await next_version(versions))

    assert seen == sorted(set(seen))


async def test_two_watchers_are_both_told_and_another_session_is_not(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    elsewhere = Scope(scope.user_id, "another")
    async with (
        watching(session_memory, scope) as one,
        watching(other_client, scope) as other,
        watching(other_client, elsewhere) as apart,
    ):
        silent = asyncio.create_task(anext(apart))
        await session_memory.states.write(scope, "x", expected_version=0)

        assert [await next_version(one), await next_version(other)] == [1, 1]
        assert not silent.done()
        silent.cancel()
        await asyncio.gather(silent, return_exceptions=True)


async def test_dropping_a_session_is_told_too(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    await other_client.states.write(scope, "x", expected_version=0)
    async with watching(session_memory, scope) as versions:
        assert await next_version(versions) == 1

        await other_client.cache.drop(scope)

        assert await next_version(versions) == 0


async def test_a_state_that_begins_anew_is_told_although_it_has_the_same_version(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    await other_client.states.write(scope, "old", expected_version=0)
    async with watching(session_memory, scope) as versions:
        assert await next_version(versions) == 1

        await other_client.cache.drop(scope)
        await other_client.states.write(scope, "new", expected_version=0)

        while await next_version(versions) != 1:
            pass


async def test_a_watcher_that_is_left_behind_in_a_loop_ends_by_itself(
    session_memory: OpenSessions, scope: Scope
) -> None:
    await session_memory.states.write(scope, "x", expected_version=0)
    before = asyncio.all_tasks()

    async for version in session_memory.states.watch(scope):
        assert version == 1
        break
    gc.collect()

    closing = asyncio.all_tasks() - before
    await asyncio.gather(*closing)


async def test_a_cancelled_watcher_ends_and_leaves_nothing_running(session_memory: OpenSessions, scope: Scope) -> None:
    before = asyncio.all_tasks()
    async with watching(session_memory, scope) as versions:
        waiting = asyncio.create_task(anext(versions))
        await session_memory.states.write(scope, "x", expected_version=0)
        assert await waiting == 1
        waiting = asyncio.create_task(anext(versions))
        await session_memory.states.read(scope)

        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert asyncio.all_tasks() == before


async def test_a_watcher_can_be_cancelled_at_any_moment_of_its_beginning(
    session_memory: OpenSessions, scope: Scope
) -> None:
    for steps in range(0, 600, 2):
        async with watching(session_memory, scope) as versions:
            waiting = asyncio.create_task(anext(versions))
            for _ in range(steps):
                await asyncio.sleep(0)

            waiting.cancel()
            ended, _ = await asyncio.wait([waiting], timeout=PATIENCE)

            assert ended
            assert waiting.cancelled()
