"""Filling: what the table holds and what was recorded since the token was given out make one copy, counted once."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_before
from mcp_memory_server.domain.sessions.cached_session import CachedSession, CacheMiss, StoredIds
from mcp_memory_server.domain.sessions.limits import MAX_TURNS, Limits
from mcp_memory_server.domain.sessions.turns import Turn
from tests.clock import FakeClock
from tests.stores.sessions import (
    EPOCH,
    OpenSessions,
    SessionStores,
    append,
    begin,
    cached,
    fill,
    load_whole,
    new_scope,
    record_stored,
    token_for,
    turns_in_order,
)

EXAMPLES = 150
LONG = timedelta(hours=1)

limits = st.builds(Limits, tokens=st.integers(0, 300), turns=st.integers(1, MAX_TURNS))


@pytest.fixture
def opened(session_stores: SessionStores, clock: FakeClock) -> Iterator[OpenSessions]:
    memory = asyncio.run(session_stores.open(clock))
    yield memory
    asyncio.run(memory.close())


async def record(memory: OpenSessions, scope: Scope, turns: list[Turn], limits: Limits | None = None) -> None:
    for turn in turns:
        appended = await append(memory, scope, turn, after="", limits=limits)
        assert appended.turn_id == turn.id


@pytest.mark.anyio
async def test_what_was_recorded_and_is_in_the_table_already_is_counted_once(
    client: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(5)
    token = await token_for(client, scope)
    await record(client, scope, turns[3:])

    assert await fill(client, scope, cached(turns), token)

    assert await load_whole(client, scope) == cached(turns)


@pytest.mark.anyio
async def test_what_was_recorded_and_is_not_in_the_table_yet_joins_and_counts(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(5)
    token = await token_for(client, scope)
    await record(other_client, scope, turns[2:])

    assert await fill(client, scope, cached([turns[0], turns[1], turns[4]], count=30, total=300), token)

    assert await load_whole(client, scope) == cached(turns, count=32, total=320)


@pytest.mark.anyio
async def test_what_is_older_than_the_gap_was_in_the_table_and_is_not_counted_again(
    client: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(30)
    token = await token_for(client, scope)
    await record(client, scope, turns[5:])
    found = await client.cache.load(scope, epoch=EPOCH)
    assert isinstance(found, CacheMiss)
    page = cached(turns[10:], count=30, total=300, gap=turns[9].id)

    assert found.oldest_recorded == turns[5].id
    assert not await fill(client, scope, page, token)
    stored = StoredIds(turns[4].id, frozenset(turn.id for turn in turns[5:10]))
    assert await fill(client, scope, page, token, stored=stored)

    assert await load_whole(client, scope) == cached(turns[10:], count=30, total=300, gap=turns[9].id)


@pytest.mark.anyio
async def test_what_is_older_than_the_gap_and_not_in_the_table_yet_is_counted(
    client: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(30)
    token = await token_for(client, scope)
    await record(client, scope, turns[5:])

    page = cached(turns[10:], count=25, total=250, gap=turns[9].id)
    assert await fill(client, scope, page, token, stored=StoredIds(turns[4].id))

    copy = await load_whole(client, scope)
    assert (copy.count, copy.total_tokens) == (30, 300)


@pytest.mark.anyio
async def test_a_recorded_turn_that_made_way_before_the_copy_was_filled_is_counted_and_leaves_a_gap(
    client: OpenSessions, scope: Scope
) -> None:
    turns, small = turns_in_order(6), Limits(turns=2)
    token = await token_for(client, scope)
    await record(client, scope, turns[2:], limits=small)

    assert await fill(client, scope, cached(turns[:3]), token)

    copy = await load_whole(client, scope)
    assert [turn.content for turn in copy.turns] == ["turn 0", "turn 1", "turn 2", "turn 5"]
    assert (copy.count, copy.total_tokens, copy.gap) == (6, 60, turns[4].id)


@pytest.mark.anyio
async def test_what_joins_is_trimmed_with_the_others(client: OpenSessions, scope: Scope) -> None:
    turns = [replace(turn, importance=0.9 if place == 2 else 0.5) for place, turn in enumerate(turns_in_order(6))]
    token = await token_for(client, scope)
    await record(client, scope, turns[4:])

    assert await fill(client, scope, cached(turns[:4]), token, limits=Limits(turns=3))

    copy = await load_whole(client, scope)
    assert [turn.content for turn in copy.turns] == ["turn 0", "turn 2", "turn 5"]
    assert (copy.count, copy.tokens, copy.total_tokens, copy.gap) == (6, 30, 60, turns[4].id)


@pytest.mark.anyio
async def test_a_copy_is_not_filled_with_the_token_of_one_that_was_dropped(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    token = await token_for(client, scope)
    await other_client.cache.drop(scope)

    assert not await fill(client, scope, cached(()), token)
    await token_for(other_client, scope)
    assert not await fill(client, scope, cached(()), token)

    assert isinstance(await client.cache.load(scope, epoch=EPOCH), CacheMiss)


@pytest.mark.anyio
async def test_a_late_filler_changes_nothing_and_is_told_that_the_copy_is_whole(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    turns = turns_in_order(3)
    token = await token_for(client, scope)
    await begin(client, scope, cached(turns[:2]))
    await append(client, scope, turns[2])

    assert await fill(other_client, scope, cached(turns[:1]), token)

    assert await load_whole(client, scope) == cached(turns)


@pytest.mark.anyio
async def test_a_copy_is_filled_only_after_the_session_has_settled(
    session_stores: SessionStores, clock: FakeClock, scope: Scope
) -> None:
    patient, hasty = await session_stores.open(clock, settling=LONG), await session_stores.open(clock)

    found = await patient.cache.load(scope, epoch=EPOCH)
    assert isinstance(found, CacheMiss)
    assert await patient.cache.load(scope, epoch=EPOCH) == CacheMiss(found.token, may_be_filled=False)
    assert not found.may_be_filled
    assert not await fill(patient, scope, cached(()), found.token)

    assert await hasty.cache.load(scope, epoch=EPOCH) == CacheMiss(found.token, may_be_filled=True)
    assert await fill(hasty, scope, cached(()), found.token)
    assert await patient.cache.load(scope, epoch=EPOCH) == CachedSession((), 0, 0, 0)
    await patient.close()
    await hasty.close()


@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    old=st.integers(0, 25),
    arrived=st.lists(st.booleans(), max_size=2 * MAX_TURNS),
    noted=st.integers(0, 3),
    limits=limits,
    tokens=st.lists(st.integers(0, 40), min_size=65, max_size=65),
)
def test_whatever_arrives_in_the_table_before_it_is_read_every_turn_is_counted_once_and_none_after_the_gap_is_missing(
    opened: OpenSessions, old: int, arrived: list[bool], noted: int, limits: Limits, tokens: list[int]
) -> None:
    plain = turns_in_order(old + len(arrived))
    turns = [replace(turn, token_count=count) for turn, count in zip(plain, tokens, strict=False)]
    asyncio.run(compare(opened, turns, arrived, noted, limits))


async def compare(memory: OpenSessions, turns: list[Turn], arrived: list[bool], noted: int, limits: Limits) -> None:
    scope, new = new_scope(), turns[len(turns) - len(arrived) :]
    token = await token_for(memory, scope)
    for turn in new[noted:]:
        await append(memory, scope, turn, after="", limits=limits)
    for turn in reversed(new[:noted]):
        await record_stored(memory, scope, turn, limits=limits)
    table = turns[: len(turns) - len(arrived)] + [turn for turn, is_there in zip(new, arrived, strict=True) if is_there]
    page, left_out = table[-MAX_TURNS:], table[:-MAX_TURNS]
    read = cached(
        page,
        count=len(table),
        total=sum(turn.token_count for turn in table),
        gap=left_out[-1].id if left_out else "",
    )

    since = ulid_before(new[0].id) if new else ""
    stored = StoredIds(since, frozenset(turn.id for turn in table if turn.id > since))
    assert await fill(memory, scope, read, token, limits=limits, stored=stored)

    copy = await load_whole(memory, scope)
    assert (copy.count, copy.total_tokens) == (len(turns), sum(turn.token_count for turn in turns))
    assert [turn for turn in copy.turns if turn.id > copy.gap] == [turn for turn in turns if turn.id > copy.gap]
    assert set(copy.turns) <= set(turns)
    assert copy.gap in {"", *(turn.id for turn in set(turns) - set(copy.turns))}
    assert copy.tokens == sum(turn.token_count for turn in copy.turns)
    assert len(copy.turns) <= 2 or (copy.tokens <= limits.tokens and len(copy.turns) <= limits.turns)
    assert (await append(memory, scope, limits=limits)).count == len(turns) + 1
