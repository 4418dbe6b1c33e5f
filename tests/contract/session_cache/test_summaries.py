"""The rolling summary of a cached session."""

import pytest

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.cached_session import CacheMiss
from tests.stores.sessions import EPOCH, OpenSessions, append, begin, load_whole

pytestmark = pytest.mark.anyio


async def test_a_rolling_summary_is_served_with_the_copy(
    client: OpenSessions, other_client: OpenSessions, scope: Scope
) -> None:
    await begin(client, scope)
    await append(client, scope)

    await client.cache.set_summary(scope, "They spoke about 'Züge' · and \"trains\".")

    assert (await load_whole(other_client, scope)).summary == "They spoke about 'Züge' · and \"trains\"."


async def test_a_copy_that_is_not_whole_gets_no_summary_and_none_is_begun(client: OpenSessions, scope: Scope) -> None:
    await client.cache.set_summary(scope, "Nothing")
    await append(client, scope, after="")

    await client.cache.set_summary(scope, "Nothing")

    assert isinstance(await client.cache.load(scope, epoch=EPOCH), CacheMiss)
