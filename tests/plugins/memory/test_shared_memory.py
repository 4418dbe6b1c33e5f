"""One memory for threads and event loops that come and go: opened once, tried again, closed at the end."""

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent_plugins.memory.shared_memory import RETRY_SECONDS, SharedMemory, shared_memory
from mcp_memory_server import (
    ConfigurationError,
    Memory,
    NewTurn,
    Role,
    Scope,
    Settings,
    UnavailableError,
    open_memory,
)

ANA = Scope("ana", "s1")


def settings(folder: Path) -> Settings:
    return Settings(table=f"sqlite://{folder}/memory.db")


def test_threads_with_event_loops_of_their_own_get_the_same_memory(tmp_path: Path) -> None:
    shared = SharedMemory(settings(tmp_path))

    async def say(number: int) -> Memory:
        memory = await shared.get()
        await memory.conversations.append(ANA, NewTurn(Role.USER, f"Message {number}"))
        return memory

    with ThreadPoolExecutor(20) as threads:
        memories = list(threads.map(lambda number: asyncio.run(say(number)), range(40)))
    loaded = asyncio.run(memories[0].conversations.load(ANA))
    shared.close()

    assert len({id(memory) for memory in memories}) == 1
    assert loaded.turn_count == 40


def test_the_same_settings_are_one_memory_and_a_closed_one_is_not_handed_out_again(tmp_path: Path) -> None:
    first = shared_memory(settings(tmp_path))

    assert shared_memory(settings(tmp_path)) is first
    first.close()

    assert shared_memory(settings(tmp_path)) is not first
    with pytest.raises(UnavailableError, match="closed"):
        asyncio.run(first.get())


def test_a_memory_that_the_caller_opened_is_not_closed(tmp_path: Path) -> None:
    async def lend() -> int:
        async with open_memory(settings(tmp_path)) as memory:
            shared_memory(memory).close()
            await memory.preferences.set(ANA, "tone", "brief")
            return len(await memory.preferences.all(ANA))

    assert asyncio.run(lend()) == 1


def test_a_memory_that_could_not_be_opened_is_tried_again_after_a_while(tmp_path: Path) -> None:
    in_the_way = tmp_path / "folder"
    in_the_way.write_text("a file where a folder is needed")
    now = [0.0]
    shared = SharedMemory(settings(in_the_way), monotonic=lambda: now[0])

    with pytest.raises(ConfigurationError):
        asyncio.run(shared.get())
    in_the_way.unlink()
    with pytest.raises(ConfigurationError):
        asyncio.run(shared.get())  # too soon: the same answer, without another attempt
    now[0] += RETRY_SECONDS
    memory = asyncio.run(shared.get())
    shared.close()

    assert isinstance(memory, Memory)


def test_a_caller_who_leaves_does_not_stop_the_opening_for_others(tmp_path: Path) -> None:
    shared = SharedMemory(settings(tmp_path))

    async def leave() -> None:
        leaving = asyncio.ensure_future(shared.get())
        await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)

    asyncio.run(leave())
    memory = asyncio.run(shared.get())
    shared.close()

    assert isinstance(memory, Memory)


def test_what_was_only_noted_is_written_when_the_process_ends_without_closing(tmp_path: Path) -> None:
    program = f"""
import asyncio
from datetime import timedelta
from agent_plugins.memory.shared_memory import shared_memory
from mcp_memory_server import Scope, Settings
async def main():
    memory = await shared_memory(Settings(table={f"sqlite://{tmp_path}/memory.db"!r})).get()
    memory.tool_log.record(Scope("ana", "s1"), "search", {{}}, "found", duration=timedelta(0))
asyncio.run(main())
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)

    async def logged() -> list[str]:
        async with open_memory(settings(tmp_path)) as memory:
            return [call.name for call in (await memory.tool_log.by_time(ANA)).calls]

    assert done.stderr == ""
    assert asyncio.run(logged()) == ["search"]
