"""A life saved in three conversations is remembered in the next one: what is, was, ended, is coming, was forgotten.

The whole of it, over stdio, is `python -m tests.bench.recall.life`.
"""

import json

import pytest
from mcp import Client

from mcp_memory_server import Memory
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always
from tests.bench.recall.fine_vectors import all_embedded
from tests.bench.recall.life import LIFE, Saving, answer
from tests.clock import FakeClock
from tests.server.asking import ANA

pytestmark = pytest.mark.anyio


async def test_a_new_conversation_knows_what_was_said_in_the_earlier_ones(memory: Memory, clock: FakeClock) -> None:
    life = json.loads(LIFE.read_text(encoding="utf-8"))
    saving = Saving(life, clock().date())
    for number in range(saving.conversations):
        async with Client(build_server(memory, always(ANA))) as client:
            await saving.conversation(number, client)

    async with Client(build_server(memory, always(ANA))) as client:
        await client.call_tool("recall", {"query": "anything"})
        await all_embedded(memory, ANA)
        answers = [await answer(client, question) for question in life["questions"]]

    assert saving.refused_wrongly == []
    assert {one.question: one.wrong for one in answers if one.wrong} == {}
