"""The store for LangGraph answers like LangGraph's own one, finds by meaning, and shares what it holds."""

from collections.abc import Callable
from typing import Any

import pytest
from langgraph.store.base import BaseStore, GetOp, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

from agent_plugins.langgraph import AgentMemoryStore
from mcp_memory_server import Scope, Settings, open_memory

PETS, FOOD = ("ana", "pets"), ("ana", "food")


@pytest.fixture
def store(settings: Settings) -> AgentMemoryStore:
    return AgentMemoryStore("ana", memory=settings)


def filled(store: BaseStore) -> BaseStore:
    store.put(PETS, "cat", {"text": "Miso is a grey cat.", "age": 3})
    store.put(PETS, "dog", {"text": "Bolt is a loud dog.", "age": 9})
    store.put(FOOD, "breakfast", {"text": "Porridge with figs in the morning."})
    store.put(("bo", "pets", "old/odd"), "a key: with / signs", {"nested": {"list": [1, 2]}})
    return store


READS: dict[str, Callable[[BaseStore], Any]] = {
    "get": lambda store: store.get(PETS, "cat"),
    "get nothing": lambda store: store.get(PETS, "bird"),
    "get odd names": lambda store: store.get(("bo", "pets", "old/odd"), "a key: with / signs"),
    "search": lambda store: store.search(PETS),
    "search above": lambda store: store.search(("ana",)),
    "search a part of a name": lambda store: store.search(("an",)),
    "search with a filter": lambda store: store.search(PETS, filter={"age": 3}),
    "search with a comparison": lambda store: store.search(PETS, filter={"age": {"$gt": 3}}),
    "search nothing": lambda store: store.search(("zoe",)),
    "namespaces": lambda store: sorted(store.list_namespaces()),
    "namespaces below": lambda store: sorted(store.list_namespaces(prefix=("ana",))),
    "namespaces that end so": lambda store: store.list_namespaces(suffix=("food",)),
    "namespaces at a depth": lambda store: sorted(store.list_namespaces(max_depth=1)),
    "namespaces with any": lambda store: store.list_namespaces(prefix=("*", "food")),
}


def plain(result: Any) -> Any:
    """Return a result without its times."""
    if isinstance(result, list):
        return sorted((plain(one) for one in result), key=str)
    return (result.namespace, result.key, result.value) if hasattr(result, "namespace") else result


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_it_answers_like_the_store_of_langgraph(read: Callable[[BaseStore], Any], store: AgentMemoryStore) -> None:
    assert plain(read(filled(store))) == plain(read(filled(InMemoryStore())))


def test_a_value_is_changed_and_deleted(store: AgentMemoryStore) -> None:
    filled(store)
    first = store.get(PETS, "cat")

    store.put(PETS, "cat", {"text": "Miso is a white cat."})
    store.delete(PETS, "dog")

    changed = store.get(PETS, "cat")
    assert first is not None
    assert changed is not None
    assert changed.value == {"text": "Miso is a white cat."}
    assert (changed.created_at, changed.updated_at > first.updated_at) == (first.created_at, True)
    assert [item.key for item in store.search(PETS)] == ["cat"]


def test_a_search_finds_by_meaning(store: AgentMemoryStore) -> None:
    found = filled(store).search(("ana",), query="What does she eat when she gets up?", limit=1)

    assert [item.key for item in found] == ["breakfast"]
    assert found[0].score == 1


@pytest.mark.anyio
async def test_operations_run_in_their_order_and_another_loop_reads_them(store: AgentMemoryStore) -> None:
    ops = [PutOp(PETS, "cat", {"text": "Miso purrs."}), GetOp(PETS, "cat"), SearchOp(PETS), PutOp(PETS, "cat", None)]

    _, item, found, _ = await store.abatch(ops)

    assert item is not None
    assert [one.key for one in found] == ["cat"]  # type: ignore[union-attr]
    assert await store.aget(PETS, "cat") is None


@pytest.mark.anyio
async def test_what_a_graph_stored_is_recalled_and_a_deleted_value_is_not(settings: Settings) -> None:
    async with open_memory(settings) as memory:
        store = AgentMemoryStore("ana", memory=memory)
        await store.aput(PETS, "cat", {"text": "Miso is a grey cat."})
        kept = await memory.recall.search(Scope("ana"), "What colour is Miso?")
        await store.adelete(PETS, "cat")
        gone = await memory.recall.search(Scope("ana"), "What colour is Miso?")

    assert [one.text for one in kept.memories] == ["Miso is a grey cat."]
    assert gone.memories == ()


def test_a_store_for_many_users_keeps_them_apart(settings: Settings) -> None:
    shared = AgentMemoryStore(lambda namespace: namespace[0], memory=settings)
    shared.put(("ana", "notes"), "one", {"text": "Ana keeps bees."})
    shared.put(("bo", "notes"), "one", {"text": "Bo keeps goats."})

    found = shared.search(("bo",), query="Who keeps which animals?")
    assert [item.value["text"] for item in found] == ["Bo keeps goats."]
    assert AgentMemoryStore("ana", memory=settings).list_namespaces() == [("ana", "notes")]
