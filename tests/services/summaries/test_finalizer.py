"""The worker of the finalizer: sessions are summarized in the background."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from mcp_memory_server import Memory, NewTurn, Role, Scope, Settings, open_memory
from mcp_memory_server.schema.ending_records import ending_from, ending_key
from tests.services.summaries.finalizer_stage import talk

pytestmark = pytest.mark.anyio

CHAT = Scope("ana", "chat")
PATIENCE = 60


async def until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not await holds():  # noqa: ASYNC110 - another thread does it
            await asyncio.sleep(0.05)


def opened(folder: Path, summarizer: str = "built-in") -> Settings:
    return Settings(table=f"sqlite://{folder}/memory.db", summarizer=summarizer)


async def is_summed_up(memory: Memory) -> bool:
    return bool(await memory.summaries.all(CHAT))


async def test_a_session_that_is_ended_is_summed_up_by_itself(tmp_path: Path) -> None:
    async with open_memory(opened(tmp_path)) as memory:
        await talk(memory, CHAT, "I prefer window seats.", "Noted.")

        await memory.conversations.end(CHAT)
        await until(lambda: is_summed_up(memory))


async def test_what_was_ended_just_before_the_end_of_the_process_is_summed_up_too(tmp_path: Path) -> None:
    async with open_memory(opened(tmp_path)) as memory:
        await talk(memory, CHAT, "I prefer window seats.", "Noted.")
        await memory.conversations.end(CHAT)

    async with open_memory(opened(tmp_path, "none")) as memory:
        assert await is_summed_up(memory)


async def test_what_another_process_left_is_found_at_the_start_of_the_next(tmp_path: Path) -> None:
    async with open_memory(opened(tmp_path, "none")) as memory:
        await talk(memory, CHAT, "I prefer window seats.", "Noted.")
        await memory.conversations.end(CHAT)

    async with open_memory(opened(tmp_path), finalize_sessions=True) as memory:
        await until(lambda: is_summed_up(memory))


async def test_a_running_session_is_listed_in_the_table_when_its_first_turn_is_acknowledged(tmp_path: Path) -> None:
    async with open_memory(opened(tmp_path, "none")) as memory:
        await talk(memory, CHAT, "I prefer window seats.")

        assert ending_from(await memory.table.get(ending_key(CHAT))).due is not None


async def test_a_long_session_gets_its_rolling_summary(tmp_path: Path) -> None:
    async with open_memory(opened(tmp_path)) as memory:
        for number in range(40):
            await memory.conversations.append(CHAT, NewTurn(Role.USER, f"Please pack box {number} with tulips."))

        async def has_summary() -> bool:
            return (await memory.conversations.load(CHAT)).summary is not None

        await until(has_summary)


async def test_without_a_summarizer_nothing_is_done(tmp_path: Path) -> None:
    async with open_memory(opened(tmp_path, "none")) as memory:
        await talk(memory, CHAT, "I prefer window seats.", "Noted.")
        await memory.conversations.end(CHAT)

    async with open_memory(opened(tmp_path, "none")) as memory:
        assert not await is_summed_up(memory)
