"""A budget of tokens bounds the whole reply, in either of the two forms in which it is sent."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from mcp import Client

from mcp_memory_server import Settings, Statement, open_memory
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always
from tests.server.asking import ANA, text_of

pytestmark = pytest.mark.anyio

MANY = 300
BUDGETS = [50, 51, 77, 100, 250, 800, 4000, 20_000]
TEXTS = [
    "Ana met {number} friends in Lisbon in 2025.",
    "Em Lisboa, a Ana comprou {number} livros sobre a história da navegação. " * 4,
    "安娜在里斯本住了{number}年。",
    'Ana\'s note {number}: "Lisbon" \\ 🐈‍⬛ <b>&amp;</b>\ttab',
]


@pytest.fixture
async def full_client(memory_file: Path) -> AsyncIterator[Client]:
    # With one model, so that no vector arrives between two questions.
    async with open_memory(Settings(table=f"sqlite://{memory_file}", embeddings="static")) as memory:
        for number in range(MANY):
            text = TEXTS[number % len(TEXTS)].format(number=number)
            topic = f"life/place {number}" if number % 3 else None
            await memory.facts.learn(ANA, Statement(text, topic=topic))
        await memory.preferences.set(ANA, "tone", "brief")
        async with Client(build_server(memory, always(ANA))) as client:
            yield client


async def test_no_reply_is_longer_than_its_budget(full_client: Client) -> None:
    calls = [("recall", {"query": "Ana in Lisbon Lisboa 里斯本"}), ("load_context", {})]

    sizes = []
    for budget in BUDGETS:
        for tool, arguments in calls:
            result = await full_client.call_tool(tool, {**arguments, "max_tokens": budget})
            structured = json.dumps(result.structured_content, ensure_ascii=False, separators=(",", ":"))
            sizes.append((tool, budget, count_tokens(text_of(result)), count_tokens(structured)))

    assert [size for size in sizes if max(size[2:]) > size[1]] == []


async def test_a_larger_budget_is_used_and_what_did_not_fit_is_counted(full_client: Client) -> None:
    replies = []
    for budget in BUDGETS:
        result = await full_client.call_tool("recall", {"query": "Ana Lisbon", "topic": "life", "max_tokens": budget})
        replies.append(result.structured_content or {})

    told = [len(reply["memories"]) for reply in replies]
    assert told == sorted(told)
    assert told[BUDGETS.index(800)] > 10
    assert all(len(reply["memories"]) + reply.get("more", 0) >= 40 for reply in replies)
    assert all(("cursor" in reply) == ("more" in reply) for reply in replies if len(reply["memories"]) > 1)


async def test_a_memory_too_long_for_the_budget_is_cut_and_still_has_its_id(full_client: Client) -> None:
    question = {"query": "comprou 101 livros"}
    short = (await full_client.call_tool("recall", {**question, "max_tokens": 60})).structured_content or {}
    long = (await full_client.call_tool("recall", {**question, "max_tokens": 800})).structured_content or {}

    (cut,), (whole, *_) = short["memories"], long["memories"]

    assert cut["id"] == whole["id"]
    assert cut["text"].endswith("…")
    assert whole["text"].startswith(cut["text"].removesuffix("…"))
