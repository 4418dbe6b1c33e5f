"""Count what a turn of an agent asks of DynamoDB, with and without Redis: `python -m tests.bench.requests_per_turn`.

The turns are those of a conversation that goes on, of a user with some facts. Somebody waits for these requests; what
is counted and delivered later is not among them.
"""

import asyncio
import os
import tempfile
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

from strands import Agent

from agent_plugins.strands import MemoryPlugin, for_user
from examples.scripted_model import ScriptedModel
from mcp_memory_server import Scope, Settings, Statement, open_memory
from mcp_memory_server.wiring import create_table
from tests.bench.counting import WRITES, CountingProxy, Request, dynamodb_request
from tests.bench.figures import Cell, Figures, print_figures, verdict
from tests.engines.servers import dynamodb_local, redis_server

TURNS = 10
WRITE_BUDGET, READ_BUDGET = 2, 1
IN_BACKGROUND = "in the background"


async def requests_of(endpoint: str, sessions: str, folder: Path) -> list[Request]:
    """Return what the turns of a conversation asked for, after its first ones."""
    async with CountingProxy(urlsplit(endpoint).port or 80, _read) as proxy:
        table = f"dynamodb://turns-{uuid4().hex}?region=eu-central-1&endpoint=http://127.0.0.1:{proxy.port}"
        settings = Settings(table=table, sessions=sessions, outbox=f"sqlite://{folder}/{uuid4().hex}.db")
        await create_table(settings, lambda _: None)
        async with open_memory(settings, finalize_sessions=False) as memory:
            for number in range(20):
                await memory.facts.learn(Scope("ana"), Statement(f"Ana has read book number {number}."))
            agent = Agent(model=ScriptedModel("I see."), plugins=[MemoryPlugin(memory=memory)], callback_handler=None)
            for number in range(3):
                await _ask(agent, number)
            before = len(proxy.requests)
            for number in range(TURNS):
                await _ask(agent, number)
            return [request for request in proxy.since(before) if request.name != IN_BACKGROUND]


async def _read(reader: asyncio.StreamReader) -> tuple[Request, bytes]:
    """Read a request. Queries of the index are those of background work, which looks for what is due."""
    request, content = await dynamodb_request(reader)
    return (Request(IN_BACKGROUND) if b'"IndexName"' in content else request), content


async def _ask(agent: Agent, number: int) -> None:
    await agent.invoke_async(f"Where is my order number {number}?", invocation_state=for_user("ana", "chat"))


def row_of(name: str, requests: list[Request]) -> dict[str, Cell]:
    """Return the requests of a turn."""
    writes = sum(request.name in WRITES for request in requests) / TURNS
    reads = len(requests) / TURNS - writes
    names = Counter(request.name for request in requests)
    return {
        "turn of an agent": name,
        "writes": writes,
        "reads": reads,
        "in all turns": ", ".join(f"{count} {name}" for name, count in sorted(names.items())),
        "budget": verdict(holds=writes <= WRITE_BUDGET and reads <= READ_BUDGET),
    }


def main() -> None:
    os.environ.update(AWS_ACCESS_KEY_ID="local", AWS_SECRET_ACCESS_KEY="local")
    with tempfile.TemporaryDirectory() as name, dynamodb_local(Path(name) / "log") as endpoint:
        with redis_server(Path(name)) as redis:
            with_redis = asyncio.run(requests_of(endpoint, redis.url, Path(name)))
        without = asyncio.run(requests_of(endpoint, "none", Path(name)))
    rows = [row_of("with Redis for sessions", with_redis), row_of("without Redis", without)]
    print_figures(Figures(f"requests to DynamoDB in a turn, of {TURNS}", rows))


if __name__ == "__main__":
    main()
