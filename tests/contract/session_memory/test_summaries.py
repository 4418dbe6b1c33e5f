"""What the session memory does for whoever sums sessions up: deadlines that are seen to, and the rolling summary."""

from datetime import timedelta

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import CacheMiss
from tests.stores.sessions import EPOCH, NOW, OpenSessions, append, begin, served

pytestmark = pytest.mark.anyio

LATER = NOW + timedelta(hours=1)
EVERY = 100_000


async def test_a_deadline_that_passed_is_settled(session_memory: OpenSessions, scope: Scope) -> None:
    await begin(session_memory, scope)
    await append(session_memory, scope, now=NOW)

    await session_memory.deadlines.settle(scope, LATER)

    assert scope not in await session_memory.deadlines.due(LATER, limit=EVERY)


async def test_a_deadline_that_a_later_turn_moved_stays(session_memory: OpenSessions, scope: Scope) -> None:
    await begin(session_memory, scope)
    await append(session_memory, scope, now=LATER)

    await session_memory.deadlines.settle(scope, LATER)

    assert scope in await session_memory.deadlines.due(LATER + timedelta(hours=1), limit=EVERY)
    await session_memory.cache.drop(scope)


async def test_settling_what_is_not_there_is_no_error(session_memory: OpenSessions, scope: Scope) -> None:
    await session_memory.deadlines.settle(scope, LATER)


async def test_a_rolling_summary_is_served_with_the_copy(
    session_memory: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    await begin(session_memory, scope)
    await append(session_memory, scope)

    await session_memory.cache.set_summary(scope, "They spoke about 'Züge' · and \"trains\".")

    assert (await served(other_client, scope)).summary == "They spoke about 'Züge' · and \"trains\"."


async def test_a_copy_that_is_not_whole_gets_no_summary_and_none_is_begun(
    session_memory: OpenSessions, scope: Scope
) -> None:
    await session_memory.cache.set_summary(scope, "Nothing")
    await append(session_memory, scope, after="")

    await session_memory.cache.set_summary(scope, "Nothing")

    assert isinstance(await session_memory.cache.load(scope, epoch=EPOCH), CacheMiss)
