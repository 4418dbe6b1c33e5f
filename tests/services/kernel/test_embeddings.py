"""The vector of a memory is stored with it, made once, and made again only for another model."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from mcp_memory_server.adapters.built_in.embedder import BuiltInEmbedder
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.items import Item, Key
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.recall.likelihood import Likelihood
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.memory import Memory
from mcp_memory_server.schema.embeddings import EMBEDDED_BY, Models, embedding_from
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import open_memory, running
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

TALK = Scope("anna", "talk 1")


class CountingEmbedder(BuiltInEmbedder):
    """The real model under a name of its own, which counts what it is asked and can be out of reach."""

    def __init__(self, name: str = "one", *, runs_here: bool = True) -> None:
        super().__init__()
        self._name = name
        self._runs_here = runs_here
        self.texts: list[str] = []
        self.is_down = False

    @property
    def model(self) -> str:
        return self._name

    @property
    def runs_here(self) -> bool:
        return self._runs_here

    @property
    def is_loaded(self) -> bool:
        return self._runs_here

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:
        if self.is_down:
            raise UnavailableError("the model does not answer")
        if not as_question:
            self.texts += texts
        return await super().embed(texts, as_question=as_question)


@asynccontextmanager
async def open_with(path: Path, embedder: CountingEmbedder, clock: FakeClock) -> AsyncIterator[Memory]:
    table = await SqliteItemTable.open(path, now=clock)
    try:
        async with running(table, now=clock, embedder=embedder) as memory:
            yield memory
    finally:
        await table.close()


async def say_three_things(memory: Memory, anna: Scope) -> None:
    await memory.facts.learn(anna, Statement("Anna repairs violins"))
    await memory.preferences.set(anna, "tone", "brief")
    await memory.conversations.append(TALK, NewTurn(Role.USER, "I bought a piano in Ghent"))


async def stored(memory: Memory) -> list[Item]:
    pages = [await memory.table.query(pk, limit=None) for pk in ("USER#anna", "SESSION#anna#talk%201")]
    return [item for page in pages for item in page.items if EMBEDDED_BY in item.body]


async def test_what_is_written_has_its_vector_beside_it(path: Path, anna: Scope, clock: FakeClock) -> None:
    embedder = CountingEmbedder()
    async with open_with(path, embedder, clock) as memory:
        await say_three_things(memory, anna)
        fact = await memory.table.get(Key("USER#anna", (await stored(memory))[0].key.sk))

    assert fact is not None
    assert embedding_from(fact.body, "Anna repairs violins", Models("one")).coarse is not None
    assert embedding_from(fact.body, "Anna repairs pianos", Models("one")).coarse is None
    assert sorted(embedder.texts) == ["Anna repairs violins", "I bought a piano in Ghent", "tone: brief"]


async def test_a_restart_embeds_nothing_that_is_stored(path: Path, anna: Scope, clock: FakeClock) -> None:
    async with open_with(path, CountingEmbedder(), clock) as memory:
        await say_three_things(memory, anna)

    again = CountingEmbedder()
    async with open_with(path, again, clock) as memory:
        found = await memory.recall.search(anna, "musical instruments, violins or a piano")

    assert len(found.memories) >= 2
    assert again.texts == []


async def test_another_model_gives_everything_its_own_vectors_and_recall_goes_on_meanwhile(
    path: Path, anna: Scope, clock: FakeClock
) -> None:
    async with open_with(path, CountingEmbedder("one"), clock) as memory:
        await say_three_things(memory, anna)

    other = CountingEmbedder("two")
    async with open_with(path, other, clock) as memory:
        found = await memory.recall.search(anna, "violins")
        await until_embedded(memory, "two", 3)

    assert found.memories[0].text == "Anna repairs violins"


async def test_a_model_of_another_service_is_not_waited_for_and_follows_later(
    path: Path, anna: Scope, clock: FakeClock
) -> None:
    remote = CountingEmbedder("remote", runs_here=False)
    async with open_with(path, remote, clock) as memory:
        await say_three_things(memory, anna)
        assert remote.texts == []

        at_once, *_ = (await memory.recall.search(anna, "violins")).memories
        await until_embedded(memory, "remote", 3)
        later, *_ = (await memory.recall.search(anna, "violins", explain=True)).memories

    assert at_once.text == later.text == "Anna repairs violins"
    assert (later.explained or {})["meaning"] > 0.1


async def test_a_model_that_does_not_answer_costs_its_part_and_the_answer_says_so(
    path: Path, anna: Scope, clock: FakeClock
) -> None:
    remote = CountingEmbedder("remote", runs_here=False)
    remote.is_down = True
    async with open_with(path, remote, clock) as memory:
        await say_three_things(memory, anna)
        found = await memory.recall.search(anna, "violins")

    assert (found.status, found.memories[0].text) == (Status.PARTIAL, "Anna repairs violins")
    assert found.missing == ("the model for embeddings did not answer: found by words alone",)


async def test_what_is_changed_while_it_is_embedded_stays_as_it_was_changed(
    path: Path, anna: Scope, clock: FakeClock
) -> None:
    async with open_with(path, CountingEmbedder("one"), clock) as memory:
        await memory.facts.learn(anna, Statement("Anna repairs violins", topic="work"))
    async with open_with(path, CountingEmbedder("two"), clock) as memory:
        await memory.recall.search(anna, "violins")
        await memory.facts.learn(anna, Statement("Anna paints houses", topic="work"), replaces="topic")
        found = await memory.recall.search(anna, "What does Anna paint or repair?")

    assert [(told.text, told.past) for told in found.memories] == [
        ("Anna paints houses", False),
        ("Anna repairs violins", True),
    ]


async def until_embedded(memory: Memory, model: str, count: int) -> None:
    """Wait until so many texts have the vectors of the model; the test's own deadline ends it otherwise."""
    while await embedded_by(memory, model) < count:  # noqa: ASYNC110 - nobody tells when it is done
        await asyncio.sleep(0.01)


async def embedded_by(memory: Memory, model: str) -> int:
    return len([item for item in await stored(memory) if item.body[EMBEDDED_BY] == model])


async def test_a_fact_that_was_just_saved_is_found_by_the_fine_model_at_once(
    path: Path, anna: Scope, clock: FakeClock
) -> None:
    async with open_memory(Settings(table=f"sqlite://{path}"), now=clock) as memory:
        for text in ("Anna's cat is called Mia.", "Anna works as a nurse.", "Anna flies to Oslo in May."):
            await memory.facts.learn(anna, Statement(text))  # the model is still being loaded
        found = await memory.recall.search(anna, "mascota")  # of which only the fine model knows what it means

    assert found.memories[0].text == "Anna's cat is called Mia."
    assert found.memories[0].match is not Likelihood.WEAK


class OccupiedEmbedder(CountingEmbedder):
    """The real model while it is occupied for longer than anybody waits, or out of order."""

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:
        if not self.is_down:
            await asyncio.Event().wait()
        return await super().embed(texts, as_question=as_question)


@pytest.mark.parametrize("is_down", [False, True])
async def test_a_fact_is_saved_while_the_fine_model_is_occupied_or_out_of_order(
    path: Path, anna: Scope, clock: FakeClock, *, is_down: bool
) -> None:
    fine = OccupiedEmbedder("fine")
    fine.is_down = is_down
    table = await SqliteItemTable.open(path, now=clock)
    try:
        async with running(table, now=clock, fine=fine) as memory:
            learned = await memory.facts.learn(anna, Statement("Anna repairs violins"))
            assert [fact.id for fact in await memory.facts.all(anna)] == [learned.fact.id]
            found = await memory.recall.search(anna, "violins")
            assert (found.status, found.memories[0].id) == (Status.COMPLETE, learned.fact.id)
    finally:
        await table.close()
