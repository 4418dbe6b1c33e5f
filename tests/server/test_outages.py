"""When the memory cannot be reached, the model is told so: failure is never emptiness."""

import asyncio
import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from mcp_memory_server import Memory, Settings, open_memory
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always
from mcp_memory_server.server.tool import DEADLINE_SECONDS
from mcp_memory_server.wiring import open_table, running
from tests.server.asking import ANA, LISBON, ask, be_refused

pytestmark = pytest.mark.anyio

EVERY_CALL = {
    "recall": {"query": "Lisbon"},
    "remember_fact": {"fact": "Ana has a cat."},
    "set_preference": {"key": "tone", "value": "brief"},
    "load_context": {},
    "forget": {"id": "pref:tone"},
}


def deleted(file: Path) -> None:
    for part in file.parent.glob(f"{file.name}*"):
        part.unlink()


def replaced_by_a_folder(file: Path) -> None:
    deleted(file)
    file.mkdir()


def replaced_by_another_file(file: Path) -> None:
    other = file.with_name("other")
    other.write_bytes(file.read_bytes())
    other.rename(file)


async def assert_every_call_says_unavailable(client: Client) -> None:
    replies = await asyncio.gather(*(be_refused(client, tool, with_) for tool, with_ in EVERY_CALL.items()))

    assert [reply["status"] for reply in replies] == ["unavailable"] * len(EVERY_CALL)
    assert [reply["error"] for reply in replies] == ["unavailable"] * len(EVERY_CALL)
    assert [reply["message"] for reply in replies if "internal error" in reply["message"]] == []
    assert [reply for reply in replies if "memories" in reply or "context" in reply] == []


@pytest.mark.parametrize("happens", [deleted, replaced_by_a_folder, replaced_by_another_file])
async def test_a_file_that_left_its_place_is_an_outage_and_nothing_is_acknowledged(
    client: Client, memory_file: Path, happens: Callable[[Path], None]
) -> None:
    await ask(client, "remember_fact", **LISBON)

    happens(memory_file)

    await assert_every_call_says_unavailable(client)
    assert "moved, deleted or replaced" in (await be_refused(client, "recall", {"query": "Lisbon"}))["message"]


async def test_a_file_that_is_gone_before_it_was_first_read_is_an_outage_too(client: Client, memory_file: Path) -> None:
    deleted(memory_file)

    await assert_every_call_says_unavailable(client)


async def test_when_the_file_is_back_so_is_the_memory(client: Client, memory_file: Path) -> None:
    await ask(client, "remember_fact", **LISBON)
    elsewhere = memory_file.with_name("elsewhere")

    shutil.move(memory_file, elsewhere)
    await be_refused(client, "recall", {"query": "Lisbon"})
    shutil.move(elsewhere, memory_file)

    assert len((await ask(client, "recall", query="Lisbon"))["memories"]) == 1


async def test_a_closed_memory_says_so(client: Client, memory: Memory) -> None:
    await ask(client, "remember_fact", **LISBON)

    await memory.table.close()

    await assert_every_call_says_unavailable(client)


async def test_a_damaged_file_is_an_outage_with_advice(client: Client, memory: Memory, memory_file: Path) -> None:
    with memory_file.open("r+b") as file:
        file.write(b"not a database any more" * 1000)

    reply = await be_refused(client, "recall", {"query": "Lisbon"})

    assert reply["status"] == "unavailable"
    assert "mcp-memory-server repair" in reply["message"]


async def test_a_resource_that_cannot_be_read_is_an_error_and_not_an_empty_page(
    client: Client, memory_file: Path
) -> None:
    deleted(memory_file)

    with pytest.raises(MCPError, match="moved, deleted or replaced"):
        await client.read_resource("memory://facts")


async def test_a_dynamodb_that_nobody_listens_for_is_an_outage_within_the_deadline() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and never listening: every connection is refused
        address = f"dynamodb://memory?region=eu-west-1&endpoint=http://127.0.0.1:{taken.getsockname()[1]}"
        table = await open_table(Settings(table=address), now=utc_now)
        started = time.monotonic()
        async with running(table) as memory, Client(build_server(memory, always(ANA))) as client:
            await assert_every_call_says_unavailable(client)
        await table.close()

    assert time.monotonic() - started < DEADLINE_SECONDS


async def test_what_was_acknowledged_before_an_outage_is_there_after_a_restart(
    client: Client, memory: Memory, memory_file: Path
) -> None:
    await ask(client, "remember_fact", **LISBON)
    await memory.table.close()
    await be_refused(client, "remember_fact", {"fact": "Ana has a cat."})

    async with open_memory(Settings(table=f"sqlite://{memory_file}")) as reopened:
        facts = await reopened.facts.all(ANA)

    assert [fact.text for fact in facts] == ["Ana lives in Lisbon."]
