"""Agents call tools in parallel, and people run several clients at once: every acknowledged write is kept."""

import asyncio
from pathlib import Path

import pytest

from tests.faults.clients import remember, served, stored_facts

pytestmark = pytest.mark.anyio


async def test_200_parallel_writes_to_one_server_are_all_kept(tmp_path: Path) -> None:
    table = tmp_path / "memory.db"

    async with served(table) as client:
        acknowledged = await asyncio.gather(*(remember(client, f"Ana has read book {n}.") for n in range(200)))

    kept = {fact.id for fact in await stored_facts(table)}
    assert len(set(acknowledged)) == 200
    assert kept == set(acknowledged)


async def test_four_servers_with_50_parallel_writes_each_on_one_file_keep_all_200(tmp_path: Path) -> None:
    table = tmp_path / "memory.db"

    async def one_server(name: str) -> list[str]:
        async with served(table) as client:
            return await asyncio.gather(*(remember(client, f"{name} has read book {n}.") for n in range(50)))

    acknowledged = await asyncio.gather(*(one_server(name) for name in ("Ana", "Bo", "Cy", "Di")))

    kept = {fact.id for fact in await stored_facts(table)}
    assert len(kept) == 200
    assert kept == {fact_id for ids in acknowledged for fact_id in ids}


async def test_four_servers_that_start_at_once_make_one_file_together(tmp_path: Path) -> None:
    table = tmp_path / "not" / "there" / "yet.db"

    async def one_server(number: int) -> str:
        async with served(table) as client:
            return await remember(client, f"Server {number} was here.")

    acknowledged = await asyncio.gather(*(one_server(number) for number in range(4)))

    assert {fact.id for fact in await stored_facts(table)} == set(acknowledged)
    assert sorted(path.name for path in table.parent.iterdir()) == ["yet.db"]


async def test_parallel_writes_of_one_topic_leave_one_fact_and_all_others_as_history(tmp_path: Path) -> None:
    table = tmp_path / "memory.db"

    async with served(table) as one, served(table) as other:
        clients = [one, other] * 15
        acknowledged = await asyncio.gather(
            *(remember(client, f"Ana lives in Town{n}.", topic="home/city") for n, client in enumerate(clients))
        )

    from mcp_memory_server import Scope, Settings, open_memory

    async with open_memory(Settings(table=f"sqlite://{table}", user="ana")) as memory:
        history = await memory.facts.history(Scope("ana"), "home/city")
    assert sorted(fact.id for fact in history) == sorted(acknowledged)
    assert [fact.valid_to for fact in history[:-1]] == [fact.valid_from for fact in history[1:]]
