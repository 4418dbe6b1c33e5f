"""Summaries are found by recall with a label, and can be forgotten, exported and imported."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_memory_server import Memory, Scope
from mcp_memory_server.domain.recall.memories import Kind
from tests.clock import FakeClock
from tests.services.summaries.finalizer_stage import finalizing_memory, talk

pytestmark = pytest.mark.anyio

ANNA, BO = Scope("anna"), Scope("bo")
CHAT = Scope("anna", "chat: 1")


@pytest.fixture
async def memory(path: Path, clock: FakeClock) -> AsyncIterator[Memory]:
    async with finalizing_memory(path, clock) as one:
        await talk(one, CHAT, "How do I repot my bonsai tree?", "Use a shallow pot with gravel at the bottom.")
        await one.conversations.end(CHAT)
        await one.finalizer.finish_due()
        yield one


async def test_a_summary_is_found_and_labelled(memory: Memory) -> None:
    found = await memory.recall.search(ANNA, "what about the bonsai?")

    told = {one.id: one for one in found.memories}
    assert told["sum:session:chat: 1"].kind is Kind.SUMMARY
    assert "shallow pot" in told["sum:session:chat: 1"].text
    assert {one.kind for one in found.memories} == {Kind.SUMMARY, Kind.TURN}


async def test_a_summary_is_shown_once_on_the_page(memory: Memory) -> None:
    page = await memory.context.load(ANNA)

    assert page.text.count("shallow pot") == 1
    assert page.text.index("## Last conversation") < page.text.index("shallow pot")


async def test_a_summary_can_be_forgotten_like_any_memory(memory: Memory) -> None:
    await memory.erasure.forget(ANNA, "sum:session:chat: 1")

    assert {one.kind for one in (await memory.recall.search(ANNA, "bonsai")).memories} == {Kind.TURN}
    assert "bonsai" not in (await memory.context.load(ANNA)).text


async def test_summaries_move_with_an_export(memory: Memory) -> None:
    lines = [line async for line in memory.archive.export(ANNA)]

    await memory.archive.import_(BO, lines)

    assert await memory.summaries.all(BO) == await memory.summaries.all(ANNA)
    assert (await memory.finalizer.fold_due()).summaries == 0
