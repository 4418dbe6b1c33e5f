"""A turn that the outbox acknowledged is one that the table takes: nothing that it never could is acknowledged."""

import random
import string
from pathlib import Path
from typing import Any

import pytest

from mcp_memory_server import NewTurn, Role, Settings, open_memory
from mcp_memory_server.domain.sessions.turns import View
from mcp_memory_server.errors import InvalidRequestError
from tests.faults.conversations import CHAT, dynamodb_url, settings, until_delivered
from tests.stores.tables import DynamoDbAddress

pytestmark = pytest.mark.anyio

ODD: tuple[dict[str, Any], ...] = (
    {"page_context": {"a": 1e-200}},
    {"page_context": {"a": {"b": [1, -1e-320]}}},
    {"page_context": {"a": 1e300}},
    {"page_context": {"a": 10**60 + 1}},
    {"page_context": {"": 1}},
    {"page_context": {"a": "\ud83d"}},
    {"page_context": {"\ud83d": 1}},
    {"page_context": {"a": float("nan")}},
    {"tool_calls": ({"name": "search", "input": {"a": -1e-200}},)},
    {"tool_calls": ({"a": [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]},)},
    {"importance": 1e-200},
    {"token_count": 10**60},
    {"guardrail_flags": ("x" * 100_000,)},
    {"guardrail_flags": ("\ud83d",)},
)


def incompressible(characters: int) -> str:
    return "".join(random.Random(16).choices(string.printable[:94], k=characters))


def longest_turn() -> NewTurn:
    """Return a turn at every limit at once, whose content compression hardly shortens."""
    return NewTurn(
        Role.USER,
        incompressible(320 * 1024),
        speaker="s" * 128,
        intent="i" * 128,
        agent="a" * 128,
        response_id="r" * 128,
        source_id="o" * 128,
        tool_calls=tuple({"n": [0] * 100} for _ in range(200)),
        page_context={"text": incompressible(50_000)},
        guardrail_flags=("f" * 120,) * 30,
    )


@pytest.fixture(params=["sqlite", "dynamodb"])
def chosen(tmp_path: Path, dynamodb_table: DynamoDbAddress, request: pytest.FixtureRequest) -> Settings:
    if request.param == "sqlite":
        return settings(tmp_path, acknowledge="outbox")
    table = dynamodb_url(dynamodb_table.table, dynamodb_table.endpoint)
    return settings(tmp_path, table=table, acknowledge="outbox")


async def test_what_is_acknowledged_reaches_the_table(chosen: Settings) -> None:
    async with open_memory(chosen) as memory:
        longest = (await memory.conversations.append(CHAT, longest_turn())).turn
        for odd in ODD:
            with pytest.raises(InvalidRequestError):
                await memory.conversations.append(CHAT, NewTurn(Role.USER, "hello", **odd))
        await until_delivered(memory)

        assert not await memory.redrive.letters(most=10)
        assert (await memory.conversations.load(CHAT, turns=50, view=View.EVERYTHING)).turns == (longest,)
