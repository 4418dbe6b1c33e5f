"""The same questions through the real `recall` tool: conversations come in as transcripts, answers as replies."""

import json
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from statistics import fmean, median
from typing import Any

from mcp import Client

from mcp_memory_server import Memory, Scope, Settings, Statement, open_memory
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens, load_exact
from mcp_memory_server.domain.conversations.transcripts import transcript_from
from mcp_memory_server.domain.recall.documents import Document
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always
from tests.bench.recall.measures import Result, Said, judged, share_found
from tests.bench.recall.stores import Question, Store

ASKER = Scope("asker")
LARGEST = 20_000
BUDGETS = (250, 500, 1_000, 2_000)
DEFAULT = 1_000


@dataclass(frozen=True)
class Asked:
    """How a question was answered: where it stands among others, how long it took, and what fits into each budget."""

    result: Result
    milliseconds_at: dict[int, float]
    found_at: dict[int, float]
    tokens_at: dict[int, int]


class Clock:
    """Stands at the moment at which a question is asked."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


@dataclass(frozen=True)
class Told:
    """A server that was told everything of one store. Facts are known by ids of the server's own."""

    client: Client
    clock: Clock
    facts: dict[str, str]


async def measure(stores: Sequence[Store], settings: Settings | None = None) -> list[Asked]:
    """Bring in each store as one user's conversations, and ask its questions through the tool."""
    load_exact()
    answers: list[Asked] = []
    for store in stores:
        async with _told(store, settings) as told:
            for question in store.questions:
                told.clock.now = question.asked_at
                answers.append(await _asked(told, store, question))
    return answers


def fair_budgets(answers: Sequence[Asked]) -> dict[str, dict[int, float]]:
    """Return what share of the evidence fits into each budget, by source and with each source counting the same."""
    sources = sorted({asked.result.source for asked in answers})
    table = {
        source: {
            budget: 100 * fmean(asked.found_at[budget] for asked in answers if _counts(asked, source))
            for budget in BUDGETS
        }
        for source in sources
    }
    table["MACRO"] = {budget: fmean(table[source][budget] for source in sources) for budget in BUDGETS}
    table["tokens used"] = {budget: median(asked.tokens_at[budget] for asked in answers) for budget in BUDGETS}
    return table


@asynccontextmanager
async def _told(store: Store, settings: Settings | None) -> AsyncIterator[Told]:
    told_by = max(document.at for document in store.documents)
    clock = Clock(max(told_by, *(question.asked_at for question in store.questions)))
    with tempfile.TemporaryDirectory() as folder:
        chosen = settings or Settings(table=f"sqlite:///{Path(folder, 'memory.db')}")
        async with open_memory(chosen, now=clock) as memory:
            facts = await _bring_in(memory, store)
            async with Client(build_server(memory, always(ASKER))) as client:
                yield Told(client, clock, facts)


async def _bring_in(memory: Memory, store: Store) -> dict[str, str]:
    """Return which document each fact is that was learned. A turn tells by itself where it came from."""
    talks = [document for document in store.documents if document.session is not None]
    await memory.conversations.transcribe(ASKER, transcript_from(_lines(talks)))
    facts = [document for document in store.documents if document.session is None]
    learned = [
        await memory.facts.learn(ASKER, Statement(document.text, topic=document.topic, said_at=document.at))
        for document in facts
    ]
    return {done.fact.id: document.id for done, document in zip(learned, facts, strict=True)}


def _lines(documents: Sequence[Document]) -> Iterator[str]:
    for document in documents:
        said = {"session": document.session, "id": document.id, "speaker": document.speaker, "text": document.text}
        yield json.dumps({**said, "date": document.at.isoformat()})


async def _asked(told: Told, store: Store, question: Question) -> Asked:
    ids, _, _ = await _recall(told, question, LARGEST)
    found: dict[int, float] = {}
    tokens: dict[int, int] = {}
    times: dict[int, float] = {}
    for budget in BUDGETS:
        fitting, tokens[budget], times[budget] = await _recall(told, question, budget)
        found[budget] = share_found(fitting, question.evidence)
    result = judged(store.source, question.category, ids, question.evidence)
    return Asked(replace(result, milliseconds=times[DEFAULT], tokens=tokens[DEFAULT]), times, found, tokens)


async def _recall(told: Told, question: Question, budget: int) -> tuple[list[Said], int, float]:
    started = time.perf_counter()
    result = await told.client.call_tool("recall", {"query": question.text, "max_tokens": budget})
    milliseconds = 1000 * (time.perf_counter() - started)
    reply = result.structured_content or {}
    if result.is_error or reply["status"] != "complete":
        raise SystemExit(f"recall answered {reply}")
    text = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
    return [_documents(memory, told) for memory in reply["memories"]], count_tokens(text), milliseconds


def _documents(memory: dict[str, Any], told: Told) -> Said:
    """Return which documents a memory is that was told: more than one if the very same was said again."""
    return frozenset(one.get("from") or told.facts[one["id"]] for one in (memory, *memory.get("also", ())))


def _counts(asked: Asked, source: str) -> bool:
    return asked.result.source == source and asked.result.category != "adversarial"
