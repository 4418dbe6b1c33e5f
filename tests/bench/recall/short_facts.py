"""Short facts through the real `recall` tool: each fact is saved by itself, with or without its topic.

A store holds a persona's own facts, or those among distractors. A store of five is made for each question: its evidence
and a few others of the same persona.
"""

import asyncio
import json
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from mcp import Client

from mcp_memory_server import Memory, Scope, Settings, Statement, open_memory
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens, load_exact
from mcp_memory_server.server.app import build_server
from tests.bench.recall.distractors import distractors
from tests.bench.recall.fine_vectors import all_embedded, embedded_once
from tests.bench.recall.personas import Persona
from tests.bench.recall.stores import Question

OWNER = Scope("owner")
OWN_SIZE = 50
"""About so many facts a persona has: no distractors are added."""
LARGEST = 20_000
AT_ONCE = 200
LONGEST_PREPARATION = timedelta(minutes=10)


@dataclass(frozen=True)
class Setting:
    """How a store is filled: with so many facts, and with their topics or without."""

    size: int = OWN_SIZE
    topics: bool = True

    @property
    def name(self) -> str:
        return f"{self.size:,} facts, {'with' if self.topics else 'without'} topics"


@dataclass(frozen=True)
class Answer:
    """What the tool answered to one question.

    ``found`` are the facts of the persona in the order of the reply (None for any other memory) within a budget that
    hardly limits; ``told`` those in the usual reply, each with the word that says how likely it is, if there is one.
    """

    persona: Persona
    question: Question
    found: Sequence[str | None]
    told: Sequence[tuple[str | None, str | None]]
    tokens: int
    milliseconds: float


@dataclass
class _Clock:
    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass
class _Caller:
    scope: Scope


@dataclass
class _Opened:
    """A running memory behind its tools."""

    memory: Memory
    client: Client
    clock: _Clock
    caller: _Caller
    ids: dict[str, str] = field(default_factory=dict[str, str])
    """What the server's ids of facts, and their texts, are called in the data."""


async def measure_settings(personas: Sequence[Persona], sizes: Sequence[int]) -> dict[Setting, list[Answer]]:
    """Return the answers from stores of each size, without topics and with them."""
    settings = [Setting(size, topics) for size in sizes for topics in (False, True)]
    with embedded_once():
        return {setting: await measure_short_facts(personas, setting) for setting in settings}


async def measure_short_facts(
    personas: Sequence[Persona], setting: Setting, settings: Settings | None = None
) -> list[Answer]:
    """Save the facts of each persona and ask its questions through the tool."""
    load_exact()
    chosen = [persona if setting.topics else persona.without_topics() for persona in personas]
    answers: list[Answer] = []
    with tempfile.TemporaryDirectory() as folder:
        around = Path(folder, "distractors")
        around.mkdir()
        if setting.size > OWN_SIZE:
            await _save_distractors(around, setting, chosen, settings)
        for persona in chosen:
            own = Path(folder, persona.name)
            shutil.copytree(around, own)
            async with _opened(own, persona, settings) as opened:
                ask = _ask_all if setting.size >= OWN_SIZE else _ask_each_in_a_store_of_its_own
                answers += await ask(opened, persona, setting.size)
    return answers


@asynccontextmanager
async def _opened(folder: Path, persona: Persona, settings: Settings | None) -> AsyncIterator[_Opened]:
    clock = _Clock(max(question.asked_at for question in persona.questions))
    caller = _Caller(OWNER)
    async with (
        open_memory(_settings(folder, settings), now=clock) as memory,
        Client(build_server(memory, lambda _asked: caller.scope)) as client,
    ):
        yield _Opened(memory, client, clock, caller)


def _settings(folder: Path, settings: Settings | None) -> Settings:
    return (settings or Settings()).model_copy(update={"table": f"sqlite://{folder / 'memory.db'}"})


async def _ask_all(opened: _Opened, persona: Persona, _: int) -> list[Answer]:
    await _save(opened, persona.facts)
    await _prepared(opened, persona.questions[0])
    return [await _asked(opened, persona, question) for question in persona.questions]


async def _ask_each_in_a_store_of_its_own(opened: _Opened, persona: Persona, size: int) -> list[Answer]:
    answers: list[Answer] = []
    for question in persona.questions:
        opened.caller.scope = Scope(f"{persona.name} {question.id}")
        opened.ids.clear()
        await _save(opened, persona.around(question, size))
        await _prepared(opened, question)
        answers.append(await _asked(opened, persona, question))
    return answers


async def _save(opened: _Opened, facts: Iterable[Any]) -> None:
    for fact in facts:
        statement = Statement(fact.text, topic=fact.topic, said_at=fact.at)
        learned = await opened.memory.facts.learn(opened.caller.scope, statement)
        opened.ids |= {learned.fact.id: fact.id, fact.text: fact.id}


async def _save_distractors(
    folder: Path, setting: Setting, personas: Sequence[Persona], settings: Settings | None
) -> None:
    clock = _Clock(max(question.asked_at for persona in personas for question in persona.questions))
    statements = [
        Statement(one.text, topic=one.topic if setting.topics else None, said_at=one.at)
        for one in distractors(setting.size - OWN_SIZE)
    ]
    async with open_memory(_settings(folder, settings), now=clock) as memory:
        for start in range(0, len(statements), AT_ONCE):
            learning = (memory.facts.learn(OWNER, one) for one in statements[start : start + AT_ONCE])
            await asyncio.gather(*learning)
        await memory.recall.search(OWNER, statements[0].text)
        await all_embedded(memory, OWNER)


async def _prepared(opened: _Opened, question: Question) -> None:
    """Wait until an answer lacks nothing: an index is built, and vectors are made, in the background."""
    opened.clock.now = question.asked_at
    async with asyncio.timeout(LONGEST_PREPARATION.total_seconds()):
        while "missing" in (await _recall(opened, question, {}))[0]:  # noqa: ASYNC110 - an index tells nobody
            await asyncio.sleep(0.05)
        await all_embedded(opened.memory, opened.caller.scope)


async def _asked(opened: _Opened, persona: Persona, question: Question) -> Answer:
    opened.clock.now = question.asked_at
    everything, _ = await _recall(opened, question, {"max_tokens": LARGEST})
    usual, milliseconds = await _recall(opened, question, {})
    return Answer(
        persona,
        question,
        [_name(opened, memory) for memory in everything["memories"]],
        [(_name(opened, memory), memory.get("match")) for memory in usual["memories"]],
        count_tokens(json.dumps(usual, ensure_ascii=False, separators=(",", ":"))),
        milliseconds,
    )


async def _recall(opened: _Opened, question: Question, more: dict[str, Any]) -> tuple[dict[str, Any], float]:
    started = time.perf_counter()
    result = await opened.client.call_tool("recall", {"query": question.text, **more})
    milliseconds = 1000 * (time.perf_counter() - started)
    reply = result.structured_content
    if result.is_error or reply is None:
        raise SystemExit(f"recall answered {result.content}")
    return reply, milliseconds


def _name(opened: _Opened, memory: dict[str, Any]) -> str | None:
    return opened.ids.get(memory["id"]) or opened.ids.get(memory["text"])
