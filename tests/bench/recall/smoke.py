"""Twenty facts and thirty-two short queries: the fact that each one asks for must be in the reply."""

import json
import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from mcp import Client

from mcp_memory_server import Scope, Settings, Statement, open_memory
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always
from tests.bench.figures import Figures, verdict
from tests.bench.recall.fine_vectors import all_embedded

OWNER = Scope("owner")
ASKED_AT = datetime(2026, 11, 18, tzinfo=UTC)


@dataclass(frozen=True)
class SmokeQuery:
    """One query, the fact it asks for, and where in the reply that fact stands: 1 is first, None is missing."""

    query: str
    wanted: str
    place: int | None
    memories: int


async def ask_smoke_list(data: Path) -> list[SmokeQuery]:
    """Save the facts and ask every query through the tool, as a model does."""
    smoke = json.loads((data / "smoke.json").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        async with open_memory(Settings(table=f"sqlite://{folder}/memory.db"), now=lambda: ASKED_AT) as memory:
            for fact in smoke["facts"]:
                await memory.facts.learn(OWNER, Statement(fact))
            async with Client(build_server(memory, always(OWNER))) as client:
                await client.call_tool("recall", {"query": smoke["questions"][0]["query"]})
                await all_embedded(memory, OWNER)
                return [await _asked(client, row["query"], smoke["facts"][row["wanted"]]) for row in smoke["questions"]]


async def _asked(client: Client, query: str, wanted: str) -> SmokeQuery:
    result = await client.call_tool("recall", {"query": query})
    texts = [memory["text"] for memory in (result.structured_content or {})["memories"]]
    return SmokeQuery(query, wanted, texts.index(wanted) + 1 if wanted in texts else None, len(texts))


def smoke_figures(asked: list[SmokeQuery]) -> Figures:
    """Return how many queries found their fact, and each that did not."""
    missed = [one for one in asked if one.place is None]
    row = {
        "": "smoke list",
        "queries": len(asked),
        "first": sum(one.place == 1 for one in asked),
        "in reply": len(asked) - len(missed),
        "goal": verdict(holds=not missed),
    }
    return Figures("smoke list", [row], [f"missed: {one.query!r} wants {one.wanted!r}" for one in missed])
