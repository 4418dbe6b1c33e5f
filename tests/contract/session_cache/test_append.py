"""Appending: one atomic step that gives rising ids, recognises repeats, trims and counts."""

from dataclasses import replace
from datetime import timedelta
from itertools import pairwise

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import is_ulid, ulid_after
from mcp_memory_server.domain.sessions.cached_session import CacheContext
from mcp_memory_server.domain.sessions.limits import FULL_REPLIES_KEPT, REMEMBERED_OPERATIONS, Limits, Tier
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.errors import InvalidRequestError
from tests.stores.sessions import EPOCH, NOW, OpenSessions, a_turn, append, begin, load_whole, turns_in_order

pytestmark = pytest.mark.anyio


async def test_a_turn_is_kept_with_everything_that_it_says(client: OpenSessions, scope: Scope) -> None:
    turn = Turn(
        id=ulid_after(None, NOW),
        role=Role.TOOL,
        content="Zażółć 🦊 \x00 \ud800 {braces} 'quotes' \r\n",
        speaker="Ana",
        intent="refund",
        agent="clerk",
        tool_calls=({"name": "look_up", "input": {"order": 7, "deep": [1, None, 0.5]}},),
        token_count=12,
        importance=0.1 + 0.2,
        page_context={"url": "https://example.org/a?b=c"},
        response_id="r-1",
        guardrail_flags=("pii", "tone"),
    )
    await begin(client, scope)

    appended = await append(client, scope, turn)

    copy = await load_whole(client, scope)
    assert copy.turns == (turn,)
    assert (appended.turn_id, appended.count, appended.tokens, appended.repeated) == (turn.id, 1, 12, False)


async def test_a_turn_of_four_megabytes_is_kept_whole(client: OpenSessions, scope: Scope) -> None:
    turn = a_turn("é" * (2 * 1024 * 1024), tokens=1_000_000)
    await begin(client, scope)

    await append(client, scope, turn)

    copy = await load_whole(client, scope)
    assert copy.turns == (turn,)


async def test_a_proposed_id_that_is_new_is_kept_as_it_is(client: OpenSessions, scope: Scope) -> None:
    first, second = turns_in_order(2)
    await begin(client, scope)

    assert (await append(client, scope, first)).turn_id == first.id
    assert (await append(client, scope, second)).turn_id == second.id


@pytest.mark.parametrize("back", [timedelta(0), timedelta(milliseconds=1), timedelta(days=400)], ids=str)
async def test_ids_rise_strictly_when_the_clock_steps_back(client: OpenSessions, scope: Scope, back: timedelta) -> None:
    await begin(client, scope)

    ids = [(await append(client, scope, a_turn(at=NOW - number * back))).turn_id for number in range(12)]

    assert all(is_ulid(turn_id) for turn_id in ids)
    assert all(one < other for one, other in pairwise(ids))


async def test_the_same_proposed_id_twice_gives_two_ids(client: OpenSessions, scope: Scope) -> None:
    turn = a_turn()
    await begin(client, scope)

    first, second = await append(client, scope, turn), await append(client, scope, turn)

    assert first.turn_id == turn.id
    assert second.turn_id > turn.id


@pytest.mark.parametrize(
    ("last", "raised"),
    [
        ("01KJMD0000000000000000000Z", "01KJMD00000000000000000010"),
        ("01KJMD00000000000000000009", "01KJMD0000000000000000000A"),
        ("01KJMD0000ZZZZZZZZZZZZZZZZ", "01KJMD00010000000000000000"),
        ("01KJMDZZZZZZZZZZZZZZZZZZZZ", "01KJME00000000000000000000"),
    ],
)
async def test_raising_an_id_carries_over(client: OpenSessions, scope: Scope, last: str, raised: str) -> None:
    await begin(client, scope)
    await append(client, scope, a_turn(turn_id=last))

    appended = await append(client, scope, a_turn(turn_id="01KJM000000000000000000000"))

    assert appended.turn_id == raised


async def test_an_id_that_is_no_ulid_is_refused_and_changes_nothing(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope)

    with pytest.raises(InvalidRequestError, match="ULID"):
        await append(client, scope, a_turn(turn_id="turn 1"))

    copy = await load_whole(client, scope)
    assert copy.count == 0


async def test_two_clients_in_one_millisecond_never_get_the_same_id(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    turn = a_turn()
    await begin(client, scope)

    ids = [(await append(client, scope, turn)).turn_id for client in (client, other_client) * 5]

    assert ids == sorted(set(ids))


async def test_a_repeat_changes_nothing_and_answers_as_the_first_time(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    await begin(client, scope)
    turns, limits = turns_in_order(5), Limits(tokens=25)
    answers = [
        await append(client, scope, turn, operation=f"operation {number}", limits=limits)
        for number, turn in enumerate(turns)
    ]
    before = await load_whole(client, scope)

    again = [
        await append(other_client, scope, replace(turn, content="again"), operation=f"operation {number}")
        for number, turn in enumerate(turns)
    ]

    assert again == [replace(answer, repeated=True) for answer in answers]
    assert any(answer.trimmed for answer in answers)
    assert await load_whole(client, scope) == before


async def test_operations_are_remembered_for_a_while_and_those_of_another_session_are_not_mixed_up(
    client: OpenSessions, scope: Scope
) -> None:
    another = replace(scope, session_id="another")
    await begin(client, scope)
    await begin(client, another)
    for number in range(REMEMBERED_OPERATIONS + 1):
        await append(client, scope, operation=f"o-{number}", limits=Limits(turns=3))

    oldest = await append(client, scope, operation="o-1")
    recent = await append(client, scope, operation=f"o-{REMEMBERED_OPERATIONS - FULL_REPLIES_KEPT + 1}")
    elsewhere = await append(client, another, operation="o-1")

    assert (oldest.repeated, oldest.count) == (True, 2)
    assert len(recent.trimmed) == 1
    assert not elsewhere.repeated
    assert not (await append(client, scope, operation="o-0")).repeated


@pytest.mark.parametrize("operation", ["", "x" * 129])
async def test_an_operation_id_that_cannot_be_kept_is_refused(
    client: OpenSessions, scope: Scope, operation: str
) -> None:
    context = CacheContext(Tier.STANDARD, Limits(), NOW, EPOCH)

    with pytest.raises(InvalidRequestError, match="operation_id"):
        await client.cache.append(TurnWrite(scope, a_turn(), operation), context)
    with pytest.raises(InvalidRequestError, match="operation_id"):
        await client.cache.record_stored(TurnWrite(scope, a_turn(), operation), context)


async def test_the_least_important_turn_makes_way_and_the_first_and_the_last_stay(
    client: OpenSessions, scope: Scope
) -> None:
    await begin(client, scope)
    weights = {"first": 0.0, "kept": 0.9, "old small talk": 0.1, "small talk": 0.1, "last": 0.0}
    turns = [
        replace(turn, content=content, importance=weights[content])
        for turn, content in zip(turns_in_order(5), weights, strict=True)
    ]

    answers = [await append(client, scope, turn, limits=Limits(tokens=35)) for turn in turns]

    copy = await load_whole(client, scope)
    assert [turn.content for turn in copy.turns] == ["first", "kept", "last"]
    assert [turn.content for answer in answers for turn in answer.trimmed] == ["old small talk", "small talk"]
    assert (copy.count, copy.tokens, copy.total_tokens) == (5, 30, 50)
    assert copy.gap == turns[3].id


async def test_the_first_and_the_last_stay_even_if_they_are_over_the_budget(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope)

    for turn in turns_in_order(3):
        await append(client, scope, replace(turn, token_count=5000), limits=Limits())

    copy = await load_whole(client, scope)
    assert [turn.content for turn in copy.turns] == ["turn 0", "turn 2"]
    assert copy.tokens == 10_000


async def test_no_more_turns_are_at_hand_than_allowed_but_all_are_counted(client: OpenSessions, scope: Scope) -> None:
    await begin(client, scope)

    for _ in range(30):
        await append(client, scope, a_turn(tokens=1))

    copy = await load_whole(client, scope)
    assert (len(copy.turns), copy.count, copy.tokens, copy.total_tokens) == (20, 30, 20, 30)


async def test_a_session_must_be_named(client: OpenSessions) -> None:
    with pytest.raises(InvalidRequestError, match="session"):
        await client.cache.load(Scope("ana"), epoch=EPOCH)
