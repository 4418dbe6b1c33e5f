"""What a view of a conversation costs: only what its reader needs comes over the wire, with one query."""

import pytest
from botocore.awsrequest import AWSResponse

from mcp_memory_server.adapters.dynamodb.address import TableAddress, connector
from mcp_memory_server.adapters.dynamodb.calls import Calls
from mcp_memory_server.adapters.dynamodb.item_table import DynamoDbItemTable
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.turn_writes import TurnWrite
from mcp_memory_server.domain.sessions.turns import Role, Turn, View
from mcp_memory_server.services.sessions.stored_turns import StoredTurns
from tests.stores.tables import PATIENCE, DynamoDbTables, utc_now

pytestmark = pytest.mark.anyio

CHAT = Scope("anna", "chat 1")
TURNS = 20


class Answers:
    """How many bytes each answer to a query had."""

    def __init__(self, client: object) -> None:
        self.sizes: list[int] = []
        client.meta.events.register("after-call.dynamodb.Query", self._measure)  # pyright: ignore[reportAttributeAccessIssue]

    def _measure(self, http_response: AWSResponse, **_: object) -> None:
        self.sizes.append(len(http_response.content))


async def test_each_view_reads_less_than_the_next_and_none_more_than_one_query(
    dynamodb_local_tables: DynamoDbTables,
) -> None:
    with dynamodb_local_tables.fresh() as fresh:
        address = TableAddress(fresh.table, None, fresh.endpoint)
        client = connector(address, PATIENCE)()
        answers = Answers(client)
        table = DynamoDbItemTable(Calls(address, lambda: client, deadline=PATIENCE), now=utc_now)
        stored = StoredTurns(table, utc_now)
        last = None
        for number in range(TURNS):
            last = ulid_after(last, utc_now())
            await stored.put(TurnWrite(CHAT, _turn(last, number), f"op {number}"))

        read: dict[View, int] = {}
        for view in View:
            answers.sizes.clear()
            page = await stored.last(CHAT, TURNS, view)
            (read[view],) = answers.sizes
            assert (page.turn_count, page.token_count, len(page.turns)) == (TURNS, 12 * TURNS, TURNS)
        await table.close()

    assert read[View.SUMMARY] < read[View.CONTEXT] < read[View.EVERYTHING] / 2, read


def _turn(turn_id: str, number: int) -> Turn:
    return Turn(
        turn_id,
        Role.ASSISTANT,
        f"Hotel {number} has a free room.",
        speaker="Concierge",
        intent="find_hotel",
        agent="travel",
        token_count=12,
        tool_calls=(
            {"name": "search", "input": {"city": "Rome"}, "output": [{"hotel": n, "stars": 4} for n in range(9)]},
        ),
        page_context={"url": "/hotels", "items": list(range(20))},
    )
