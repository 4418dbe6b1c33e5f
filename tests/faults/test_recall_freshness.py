"""One process writes, another recalls: what was acknowledged is found by the next recall, what was forgotten never."""

import json
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import quote

import pytest
from mcp import Client

from tests.faults.clients import server_on
from tests.stores.tables import DynamoDbAddress

pytestmark = pytest.mark.anyio

SYLLABLES = ["ka", "lo", "mi", "ra", "te", "vu", "zo", "ni", "pe", "dru"]


@asynccontextmanager
async def two_servers(table: str) -> AsyncIterator[tuple[Client, Client]]:
    asking = server_on(table, "serve", "--tools", "conversation")
    async with Client(asking) as writer, Client(asking) as reader:
        yield writer, reader


async def answer(client: Client, tool: str, **arguments: object) -> dict[str, object]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return dict(result.structured_content or {})


async def told(client: Client, query: str) -> list[str]:
    reply = await answer(client, "recall", query=query, max_tokens=2_000)
    assert reply["status"] == "complete", reply
    memories = reply["memories"]
    assert isinstance(memories, list)
    return [memory["text"] for memory in memories]


async def rounds_of(table: str, rounds: int) -> dict[str, int]:
    """Write, change, forget and talk in one process, and ask the other each time."""
    draw = random.Random(rounds)
    came_to = {"rounds": rounds, "missed": 0, "forgotten_told": 0, "superseded_told": 0, "turns_missed": 0}
    async with two_servers(table) as (writer, reader):
        for number in range(rounds):
            word = "".join(draw.choices(SYLLABLES, k=4)) + str(number)
            text = f"The {word} stands in hall {number}."
            saved = await answer(writer, "remember_fact", fact=text, topic=f"halls/{number % 40}")
            found = await told(reader, f"Where does the {word} stand?")
            came_to["missed"] += text not in found
            earlier = saved.get("earlier")
            came_to["superseded_told"] += earlier in found
            turn = f"By the way, the {word} was polished in week {number}."
            await answer(writer, "append_turn", session_id=f"talk {number % 7}", role="user", content=turn)
            came_to["turns_missed"] += turn not in await told(reader, f"When was the {word} polished?")
            if number % 3 == 0:
                await answer(writer, "forget", id=saved["id"])
                came_to["forgotten_told"] += text in await told(reader, f"Where does the {word} stand?")
    print(json.dumps(came_to))
    return came_to


def url_of(table: DynamoDbAddress) -> str:
    return f"dynamodb://{table.table}?endpoint={quote(table.endpoint, safe='')}"


def is_exact(came_to: dict[str, int]) -> bool:
    return not any(value for name, value in came_to.items() if name != "rounds")


async def test_every_acknowledged_write_is_found_by_the_next_recall_of_another_server(tmp_path: Path) -> None:
    assert is_exact(await rounds_of(f"sqlite://{tmp_path}/memory.db", 25))


async def test_the_same_holds_on_dynamodb(dynamodb_table: DynamoDbAddress) -> None:
    assert is_exact(await rounds_of(url_of(dynamodb_table), 15))


@pytest.mark.slow
@pytest.mark.timeout(1_800)
async def test_it_holds_a_thousand_times(tmp_path: Path) -> None:
    assert is_exact(await rounds_of(f"sqlite://{tmp_path}/memory.db", 1_000))


@pytest.mark.slow
@pytest.mark.timeout(1_800)
async def test_it_holds_three_hundred_times_on_dynamodb(dynamodb_table: DynamoDbAddress) -> None:
    assert is_exact(await rounds_of(url_of(dynamodb_table), 300))
