"""The state that agents share: versions, conflicts, and watching changes."""

import asyncio
import gc
from collections.abc import AsyncIterator

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import SharedState
from mcp_memory_server.errors import ConflictError, InvalidRequestError
from mcp_memory_server.ports.shared_state_store import SharedStateStore
from tests.stores.sessions import watching

pytestmark = pytest.mark.anyio

INCREMENTS = 50
HOSTILE = ["a", "a:b", "b:c", "{a}", "a}:state:b", "a#b", "*", "a\x00b", "%23", "A"]
PATIENCE = 30


async def next_version(versions: AsyncIterator[int]) -> int:
    return await asyncio.wait_for(anext(versions), PATIENCE)


async def test_nothing_is_shared_at_first(states: SharedStateStore, scope: Scope) -> None:
    assert await states.read(scope) == SharedState(None, 0)


@pytest.mark.parametrize(
    "value",
    [None, 0, "", [], {}, {"step": [1, 2.5, None, True, "🦊\ud800"], "deep": {"a": {}}}, "x" * 100_000],
    ids=repr,
)
async def test_a_state_is_read_as_it_was_written(
    states: SharedStateStore, other_states: SharedStateStore, scope: Scope, value: object
) -> None:
    assert await states.write(scope, value, expected_version=0) == 1

    assert await other_states.read(scope) == SharedState(value, 1)


@pytest.mark.parametrize("value", [object(), float("nan"), {1, 2}, b"bytes"], ids=["object", "nan", "set", "bytes"])
async def test_what_is_no_plain_data_is_refused(states: SharedStateStore, scope: Scope, value: object) -> None:
    with pytest.raises(InvalidRequestError, match="plain data"):
        await states.write(scope, value, expected_version=0)

    assert await states.read(scope) == SharedState(None, 0)


@pytest.mark.parametrize("expected", [0, 1, 3])
async def test_another_version_than_the_expected_is_a_conflict_and_changes_nothing(
    states: SharedStateStore, other_states: SharedStateStore, scope: Scope, expected: int
) -> None:
    await states.write(scope, "first", expected_version=0)
    await other_states.write(scope, "second", expected_version=1)

    with pytest.raises(ConflictError):
        await states.write(scope, "late", expected_version=expected)

    assert await states.read(scope) == SharedState("second", 2)


async def test_a_dropped_state_is_gone_and_the_next_one_begins_anew(
    states: SharedStateStore, other_states: SharedStateStore, scope: Scope
) -> None:
    await states.write(scope, "old", expected_version=0)

    await other_states.drop(scope)
    await other_states.drop(scope)

    assert await states.read(scope) == SharedState(None, 0)
    assert await states.write(scope, "new", expected_version=0) == 1


async def test_hostile_ids_share_no_state(states: SharedStateStore, scope: Scope) -> None:
    scopes = [Scope(f"{scope.user_id}{user}", session) for user in HOSTILE for session in HOSTILE]
    for number, one in enumerate(scopes):
        await states.write(one, number, expected_version=0)

    assert [(await states.read(one)).value for one in scopes] == list(range(len(scopes)))


async def test_fifty_concurrent_increments_are_fifty(
    states: SharedStateStore, other_states: SharedStateStore, scope: Scope
) -> None:
    async def increment(states: SharedStateStore) -> None:
        while True:
            state = await states.read(scope)
            try:
                await states.write(scope, (state.value or 0) + 1, expected_version=state.version)
            except ConflictError:
                continue
            return

    await asyncio.gather(*(increment((states, other_states)[number % 2]) for number in range(INCREMENTS)))

    assert await states.read(scope) == SharedState(INCREMENTS, INCREMENTS)


async def test_a_watcher_notices_what_another_process_writes(
    states: SharedStateStore, other_states: SharedStateStore, scope: Scope
) -> None:
    async with watching(states, scope) as versions:
        first = asyncio.create_task(next_version(versions))
        await other_states.write(scope, "one", expected_version=0)
        assert await first == 1

        await other_states.write(scope, "two", expected_version=1)
        assert await next_version(versions) == 2


async def test_a_watcher_that_falls_behind_gets_to_the_newest_version_in_the_end(
    states: SharedStateStore, other_states: SharedStateStore, scope: Scope
) -> None:
    async with watching(states, scope) as versions:
        await other_states.write(scope, 1, expected_version=0)
        seen = [await next_version(versions)]
        for version in range(1, 20):
            await other_states.write(scope, version + 1, expected_version=version)

        while seen[-1] < 20:
            seen.append(await next_version(versions))

    assert seen == sorted(set(seen))


async def test_two_watchers_both_notice_a_change_and_one_of_another_session_does_not(
    states: SharedStateStore, other_states: SharedStateStore, scope: Scope
) -> None:
    elsewhere = Scope(scope.user_id, "another")
    async with (
        watching(states, scope) as one,
        watching(other_states, scope) as other,
        watching(other_states, elsewhere) as apart,
    ):
        silent = asyncio.create_task(anext(apart))
        await states.write(scope, "x", expected_version=0)

        assert [await next_version(one), await next_version(other)] == [1, 1]
        assert not silent.done()
        silent.cancel()
        await asyncio.gather(silent, return_exceptions=True)


async def test_a_watcher_notices_that_the_state_was_dropped(
    states: SharedStateStore, other_states: SharedStateStore, scope: Scope
) -> None:
    await other_states.write(scope, "x", expected_version=0)
    async with watching(states, scope) as versions:
        assert await next_version(versions) == 1

        await other_states.drop(scope)

        assert await next_version(versions) == 0


async def test_a_state_that_begins_anew_is_noticed_although_it_has_the_same_version(
    states: SharedStateStore, other_states: SharedStateStore, scope: Scope
) -> None:
    await other_states.write(scope, "old", expected_version=0)
    async with watching(states, scope) as versions:
        assert await next_version(versions) == 1

        await other_states.drop(scope)
        await other_states.write(scope, "new", expected_version=0)

        while await next_version(versions) != 1:
            pass


async def test_a_watcher_that_is_left_behind_in_a_loop_ends_by_itself(states: SharedStateStore, scope: Scope) -> None:
    await states.write(scope, "x", expected_version=0)
    before = asyncio.all_tasks()

    async for version in states.watch(scope):
        assert version == 1
        break
    gc.collect()

    closing = asyncio.all_tasks() - before
    await asyncio.gather(*closing)


async def test_a_cancelled_watcher_ends_and_leaves_nothing_running(states: SharedStateStore, scope: Scope) -> None:
    before = asyncio.all_tasks()
    async with watching(states, scope) as versions:
        waiting = asyncio.create_task(anext(versions))
        await states.write(scope, "x", expected_version=0)
        assert await waiting == 1
        waiting = asyncio.create_task(anext(versions))
        await states.read(scope)

        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert asyncio.all_tasks() == before


async def test_a_watcher_can_be_cancelled_at_any_moment_of_its_beginning(
    states: SharedStateStore, scope: Scope
) -> None:
    for steps in range(0, 600, 2):
        async with watching(states, scope) as versions:
            waiting = asyncio.create_task(anext(versions))
            for _ in range(steps):
                await asyncio.sleep(0)

            waiting.cancel()
            ended, _ = await asyncio.wait([waiting], timeout=PATIENCE)

            assert ended
            assert waiting.cancelled()
