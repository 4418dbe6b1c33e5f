"""Recall with a vector index finds conversations that do not fit into the search index, and only the user's own."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import pytest

from mcp_memory_server import Memory, NewTurn, Role, Scope, Settings, Statement, open_memory
from mcp_memory_server.adapters.dynamodb import vector_index
from mcp_memory_server.adapters.dynamodb.tables import create_table
from mcp_memory_server.adapters.dynamodb.vector_index_shape import VectorIndexShape
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.recall.replies.answers import Recalled
from mcp_memory_server.domain.sessions.turns import LIFE
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.ports.metric_catalogue import FOREIGN_VECTORS, Metric
from mcp_memory_server.schema.vector_entries import VECTOR_OWNER, vector_attribute
from mcp_memory_server.services.recall import index_registry, nearby_turns, user_index
from mcp_memory_server.services.recall.index_registry import TOO_MANY
from mcp_memory_server.services.recall.nearby_turns import BY_MEANING, NOT_ASKED
from tests.clock import FakeClock
from tests.engines.bedrock import TITAN, bedrock_service
from tests.engines.http_proxy import Fate, always
from tests.engines.vector_endpoint import VectorEndpoint
from tests.stores.tables import PATIENCE
from tests.stores.vector_tables import new_name

pytestmark = pytest.mark.anyio

INDEX = "nearby"
BUILT_IN_DIMENSIONS = 256
ROOM = 3
"""Memories that are indexed here, in most of these tests."""

HIKING = "We hiked along the ridge above the lake and saw an eagle."
EAGLE = "When did we see the eagle above the lake?"
VIOLIN = "I play the violin in an orchestra on Fridays."
MUSIC = "Which orchestra do I play the violin in?"
SAID = 4
SMALL_TALK = ("Good morning to you.", "The printer is out of paper.", "Lunch is at noon today.")


class Recorder:
    """Keeps what is measured."""

    def __init__(self) -> None:
        self.foreign = 0.0

    def record(self, metric: Metric, value: float, **_: str) -> None:
        self.foreign += value if metric is FOREIGN_VECTORS else 0


@dataclass(frozen=True)
class Place:
    """A table with a vector index, and how to open memories over it."""

    endpoint: VectorEndpoint
    table: str
    clock: FakeClock

    def settings(self, index: str = INDEX, embeddings: str = "built-in") -> Settings:
        address = f"dynamodb://{self.table}?endpoint={self.endpoint.endpoint}"
        return Settings(table=address, sessions="none", outbox="none", vector_index=index, embeddings=embeddings)

    @asynccontextmanager
    async def process(self, settings: Settings | None = None, metrics: Recorder | None = None) -> AsyncIterator[Memory]:
        async with open_memory(settings or self.settings(), now=self.clock, metrics=metrics) as memory:
            yield memory

    async def wait_until_entered(self, count: int) -> None:
        """Wait for so many turns to be in the index: what lacks a vector gets it in the background."""
        async with asyncio.timeout(60):
            while len(await asyncio.to_thread(self.entered)) < count:  # noqa: ASYNC110 - it shows in the table alone
                await asyncio.sleep(0.05)

    def entered(self) -> list[object]:
        return [item for item in self.endpoint.items(self.table) if VECTOR_OWNER in item]

    def fail(self, fate: Fate) -> None:
        """Let every search meet this fate."""
        self.endpoint.decide(lambda asked: fate if asked.operation == "SearchVectors" else Fate.PASSES)


@pytest.fixture
async def place(dynamodb_local_endpoint: str, clock: FakeClock) -> AsyncIterator[Place]:
    async with VectorEndpoint(dynamodb_local_endpoint) as endpoint:
        name = new_name()
        await make(endpoint, name, BUILT_IN_DIMENSIONS)
        yield Place(endpoint, name, clock)
        endpoint.decide(always(Fate.PASSES))


@pytest.fixture
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many memories of a user are indexed here."""
    monkeypatch.setattr(index_registry, "MOST_DOCUMENTS", ROOM)


@pytest.fixture
def long_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine shares two cores with the tests: how long is waited for it is tested elsewhere."""
    with_long_deadline = partial(vector_index.open_vector_index, deadline=PATIENCE)
    monkeypatch.setattr(vector_index, "open_vector_index", with_long_deadline)
    monkeypatch.setattr(nearby_turns, "TIMEOUT_SECONDS", PATIENCE.total_seconds())


async def make(endpoint: VectorEndpoint, name: str, dimensions: int) -> None:
    shape = VectorIndexShape(INDEX, vector_attribute(dimensions), VECTOR_OWNER, dimensions)
    await create_table(name, endpoint=endpoint.endpoint, progress=lambda _: None, vector_index=shape)


async def say(memory: Memory, clock: FakeClock, user: str = "anna", last: str = HIKING) -> None:
    """Fill the room with small talk, and say something after it, for which there is no room then."""
    for content in (*SMALL_TALK, last):
        clock.advance(timedelta(seconds=1))
        await memory.conversations.append(Scope(user, "talk"), NewTurn(Role.USER, content))


async def talk(place: Place) -> None:
    """Let a process say it, and have it entered, which is done for whoever reads it."""
    async with place.process() as memory:
        await say(memory, place.clock)
        await memory.recall.search(Scope("anna"), "printer")
        await place.wait_until_entered(SAID)


def texts(found: Recalled) -> list[str]:
    return [memory.text for memory in found.memories]


@pytest.mark.usefixtures("little_room", "long_timeout")
async def test_turns_that_do_not_fit_into_the_index_are_found_by_meaning(place: Place) -> None:
    await talk(place)

    async with place.process(place.settings("none")) as without, place.process() as with_index:
        alone = await without.recall.search(Scope("anna"), EAGLE)
        found = await with_index.recall.search(Scope("anna"), EAGLE)

    assert (HIKING in texts(alone), TOO_MANY in alone.missing) == (False, True)
    assert texts(found)[0] == HIKING
    assert (found.status, found.missing) == (Status.PARTIAL, (BY_MEANING,))


async def test_the_service_is_not_asked_if_all_conversations_are_indexed(place: Place) -> None:
    await talk(place)
    async with place.process() as memory:
        first = await memory.recall.search(Scope("anna"), EAGLE)
        asked = len(place.endpoint.searches)
        place.fail(Fate.HANGS)
        again = await memory.recall.search(Scope("anna"), EAGLE)

    assert (texts(first)[0], texts(again)[0]) == (HIKING, HIKING)
    assert (first.status, again.status) == (Status.COMPLETE, Status.COMPLETE)
    assert len(place.endpoint.searches) == asked


@pytest.mark.usefixtures("little_room", "long_timeout")
async def test_items_of_another_owner_are_dropped_and_counted(place: Place) -> None:
    await talk(place)
    async with place.process() as memory:
        await say(memory, place.clock, "ben", "Ben saw an eagle above the lake, and told nobody.")
        await memory.recall.search(Scope("ben"), "printer")
        await place.wait_until_entered(2 * SAID)
    place.endpoint.ignores_owners = True
    metrics = Recorder()

    async with place.process(metrics=metrics) as memory:
        found = await memory.recall.search(Scope("anna"), EAGLE)

    assert texts(found)[0] == HIKING
    assert not [text for text in texts(found) if "Ben" in text]
    assert metrics.foreign == SAID


@pytest.mark.usefixtures("little_room", "long_timeout")
async def test_an_expired_turn_is_not_returned_although_the_service_still_has_it(place: Place) -> None:
    await talk(place)
    place.clock.advance(LIFE + timedelta(days=1))

    async with place.process() as memory:
        found = await memory.recall.search(Scope("anna"), EAGLE)

    assert len(place.entered()) == SAID
    assert texts(found) == []


@pytest.mark.usefixtures("little_room", "long_timeout")
async def test_a_forgotten_turn_is_not_returned_although_the_service_still_has_it(place: Place) -> None:
    await talk(place)
    await place.endpoint.stand_still(place.table)
    async with place.process() as memory:
        turn = (await memory.recall.search(Scope("anna"), EAGLE)).memories[0]
        await memory.erasure.forget(Scope("anna"), turn.id)

        here = await memory.recall.search(Scope("anna"), EAGLE)
    async with place.process() as another:
        there = await another.recall.search(Scope("anna"), EAGLE)

    assert turn.text == HIKING
    assert HIKING not in [*texts(here), *texts(there)]


@pytest.mark.usefixtures("little_room", "long_timeout")
async def test_an_erased_user_is_not_returned_although_the_service_still_has_the_turns(place: Place) -> None:
    await talk(place)
    await place.endpoint.stand_still(place.table)

    async with place.process() as memory:
        await memory.erasure.forget_user(Scope("anna"))
        found = await memory.recall.search(Scope("anna"), EAGLE)

    assert texts(found) == []
    assert place.entered() == []


@pytest.mark.usefixtures("little_room")
@pytest.mark.parametrize("fate", [Fate.HANGS, Fate.IS_THROTTLED, Fate.IS_DENIED, Fate.IS_INVALID, Fate.IS_DROPPED])
async def test_without_an_answer_of_the_service_only_its_turns_are_missing(place: Place, fate: Fate) -> None:
    await talk(place)
    place.fail(fate)

    async with place.process() as memory:
        found = await memory.recall.search(Scope("anna"), "Is the printer out of paper?")

    assert texts(found)[0] == "The printer is out of paper."
    assert (found.status, found.missing) == (Status.PARTIAL, (TOO_MANY, NOT_ASKED))


@pytest.mark.usefixtures("little_room", "long_timeout")
async def test_a_service_that_did_not_answer_is_not_asked_for_a_while(place: Place) -> None:
    await talk(place)
    place.fail(Fate.IS_INVALID)

    async with place.process() as memory:
        for _ in range(3):
            assert NOT_ASKED in (await memory.recall.search(Scope("anna"), EAGLE)).missing

    assert place.endpoint.met["SearchVectors", Fate.IS_INVALID] == 1


@pytest.mark.usefixtures("little_room", "long_timeout")
async def test_an_evicted_transient_entry_is_found_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_index, "MOST_TRANSIENT", 1)
    await talk(place)
    async with place.process() as memory:
        await memory.conversations.append(Scope("anna", "talk"), NewTurn(Role.USER, VIOLIN))
        await memory.recall.search(Scope("anna"), "printer")
        await place.wait_until_entered(SAID + 1)

        found = [texts(await memory.recall.search(Scope("anna"), question))[0] for question in (EAGLE, MUSIC, EAGLE)]

    assert found == [HIKING, VIOLIN, HIKING]


@pytest.mark.usefixtures("long_timeout")
async def test_turns_from_before_the_setting_are_added_to_the_vector_index_when_read(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with place.process(place.settings("none")) as memory:
        await say(memory, place.clock)
        await memory.recall.search(Scope("anna"), EAGLE)
    assert place.entered() == []
    monkeypatch.setattr(index_registry, "MOST_DOCUMENTS", ROOM)

    async with place.process() as memory:
        await memory.recall.search(Scope("anna"), EAGLE)
        await place.wait_until_entered(SAID)
        found = await memory.recall.search(Scope("anna"), EAGLE)

    assert texts(found)[0] == HIKING


async def test_a_topic_is_not_looked_for_in_conversations(place: Place) -> None:
    async with place.process() as memory:
        await memory.facts.learn(Scope("anna"), Statement("Anna hikes at the lake.", topic="hobbies/sport"))
        found = await memory.recall.search(Scope("anna"), "lake", topic="hobbies")

    assert texts(found) == ["Anna hikes at the lake."]
    assert place.endpoint.searches == []


@pytest.mark.usefixtures("little_room", "long_timeout")
async def test_vectors_of_bedrock_are_added_to_the_vector_index_in_the_background(
    dynamodb_local_endpoint: str, clock: FakeClock
) -> None:
    with bedrock_service() as bedrock:
        async with VectorEndpoint(dynamodb_local_endpoint) as endpoint:
            place = Place(endpoint, new_name(), clock)
            await make(endpoint, place.table, 512)
            embeddings = f"bedrock://{TITAN}?endpoint={bedrock.endpoint}&dimensions=512"
            async with place.process(place.settings(embeddings=embeddings)) as memory:
                await say(memory, clock)
                await memory.recall.search(Scope("anna"), EAGLE)
                await place.wait_until_entered(SAID)
                found = await memory.recall.search(Scope("anna"), EAGLE)

    assert texts(found)[0] == HIKING


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (Settings(table="sqlite:", vector_index=INDEX), "an index of a table on DynamoDB"),
        (
            Settings(table="dynamodb://memory", embeddings="none", vector_index=INDEX),
            "needs a model that makes vectors",
        ),
    ],
)
async def test_settings_that_do_not_go_together_are_refused_clearly(settings: Settings, sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        async with open_memory(settings):
            pass


@pytest.mark.parametrize("name", ["", "ab", "with space", "a" * 256, "index/1"])
def test_an_invalid_index_name_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="the name of an index"):
        Settings(vector_index=name)
