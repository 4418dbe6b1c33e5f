"""The long-term store of LangGraph: values under a namespace and a key, found by meaning."""

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from agent_plugins.memory.shared_memory import Source, shared_memory
from agent_plugins.state.background_loop import BACKGROUND
from mcp_memory_server import InvalidRequestError, Memory, MemoryServerError, NotFoundError, Scope, Statement

PREFIX = "langgraph/"
TOPIC = "store"
SEARCHED_TOKENS = 8_000
READ_AT_ONCE = 16

Namespace: TypeAlias = tuple[str, ...]

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, wanted: value == wanted,
    "$ne": lambda value, wanted: value != wanted,
    "$gt": lambda value, wanted: float(value) > float(wanted),
    "$gte": lambda value, wanted: float(value) >= float(wanted),
    "$lt": lambda value, wanted: float(value) < float(wanted),
    "$lte": lambda value, wanted: float(value) <= float(wanted),
}


class AgentMemoryStore(BaseStore):
    """A store for graphs, kept until a value is deleted. Texts in it are recalled by every other client too.

    builder.compile(store=AgentMemoryStore("ana"))

    ``user_id`` is the owner of everything in it. A store that serves many users takes a function of the namespace that
    returns the owner: ``AgentMemoryStore(lambda namespace: namespace[1])``.
    """

    def __init__(self, user_id: str | Callable[[Namespace], str], *, memory: Source = None) -> None:
        super().__init__()
        self._owner = user_id
        self._shared = shared_memory(memory)
        if isinstance(user_id, str):
            Scope(user_id)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations one after the other, from synchronous code."""
        return BACKGROUND.wait_for(BACKGROUND.submit(self.abatch(list(ops))))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations one after the other."""
        memory = await self._shared.get()
        return [await self._result(memory, op) for op in ops]

    async def _result(self, memory: Memory, op: Op) -> Result:
        if isinstance(op, GetOp):
            return await _item(memory, self._scope(op.namespace), op.namespace, op.key)
        if isinstance(op, PutOp):
            return await self._put(memory, op)
        if isinstance(op, SearchOp):
            return await self._search(memory, op)
        if isinstance(op, ListNamespacesOp):
            return await self._namespaces(memory, op)
        raise InvalidRequestError(f"a store of LangGraph knows no {type(op).__name__}")

    def _scope(self, namespace: Namespace) -> Scope:
        return Scope(self._owner if isinstance(self._owner, str) else self._owner(namespace))

    async def _put(self, memory: Memory, op: PutOp) -> None:
        scope, name = self._scope(op.namespace), _name(op.namespace, op.key)
        before = await _stored(memory, scope, name)
        earlier = None if before is None else before.get("fact")
        if op.value is None:
            await _forget(memory, scope, earlier)
            await memory.snapshots.delete(scope, name)
            return
        now = datetime.now(UTC).isoformat()
        text = "" if op.index is False else _text_of(op.value, op.index)
        fact = await _learned(memory, scope, op.namespace, text, earlier)
        if earlier != fact and not text:
            await _forget(memory, scope, earlier)
        created = now if before is None else before["created_at"]
        stored = {"value": op.value, "created_at": created, "updated_at": now, "fact": fact}
        await memory.snapshots.write(scope, name, json.dumps(stored, ensure_ascii=False).encode(), life=None)

    async def _search(self, memory: Memory, op: SearchOp) -> list[SearchItem]:
        scope = self._scope(op.namespace_prefix)
        found = [
            (namespace, key, stored)
            for namespace, key, stored in await _all(memory, scope, op.namespace_prefix)
            if _fits(stored["value"], op.filter)
        ]
        ranks: Mapping[str, int] = {}
        if op.query:
            ranks = await _ranks(memory, scope, op.query)
            found.sort(key=lambda one: ranks.get(one[2]["fact"] or "", len(ranks)))
        else:
            found.sort(key=lambda one: (one[0], one[1]))
        return [
            SearchItem(
                namespace,
                key,
                stored["value"],
                datetime.fromisoformat(stored["created_at"]),
                datetime.fromisoformat(stored["updated_at"]),
                score=_score(ranks, stored["fact"]) if op.query else None,
            )
            for namespace, key, stored in found[op.offset : op.offset + op.limit]
        ]

    async def _namespaces(self, memory: Memory, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        start: Namespace = next((tuple(one.path) for one in conditions if one.match_type == "prefix"), ())
        names = await memory.snapshots.names(self._scope(start), PREFIX)
        namespaces = {_parts(name)[0] for name in names}
        fitting = {one[: op.max_depth] for one in namespaces if all(_matches(one, each) for each in conditions)}
        return sorted(fitting)[op.offset : op.offset + op.limit]


async def _item(memory: Memory, scope: Scope, namespace: Namespace, key: str) -> Item | None:
    stored = await _stored(memory, scope, _name(namespace, key))
    if stored is None:
        return None
    times = (datetime.fromisoformat(stored[name]) for name in ("created_at", "updated_at"))
    created_at, updated_at = times
    return Item(value=stored["value"], key=key, namespace=namespace, created_at=created_at, updated_at=updated_at)


async def _stored(memory: Memory, scope: Scope, name: str) -> dict[str, Any] | None:
    try:
        return json.loads(await memory.snapshots.read(scope, name))
    except NotFoundError:
        return None


async def _all(memory: Memory, scope: Scope, prefix: Namespace) -> list[tuple[Namespace, str, dict[str, Any]]]:
    start = PREFIX + "".join(f"{quote(part, safe='')}/" for part in prefix)
    names = await memory.snapshots.names(scope, start)
    found: list[tuple[Namespace, str, dict[str, Any]]] = []
    for first in range(0, len(names), READ_AT_ONCE):
        some = names[first : first + READ_AT_ONCE]
        read = await asyncio.gather(*(_stored(memory, scope, name) for name in some))
        found += [(*_parts(name), stored) for name, stored in zip(some, read, strict=True) if stored is not None]
    return found


async def _learned(memory: Memory, scope: Scope, namespace: Namespace, text: str, earlier: str | None) -> str | None:
    """Make the text a fact, in place of the earlier one; None if it cannot be one. The value is stored anyway."""
    topic = "/".join([TOPIC, *(part.replace("/", "-").strip() or "-" for part in namespace)])[:120].rstrip("/")
    with suppress(MemoryServerError):
        statement = Statement(text, topic=topic)
        with suppress(NotFoundError):
            return (await memory.facts.learn(scope, statement, replaces=earlier)).fact.id
        return (await memory.facts.learn(scope, statement)).fact.id
    return None


async def _forget(memory: Memory, scope: Scope, fact: str | None) -> None:
    if fact is not None:
        with suppress(NotFoundError):
            await memory.erasure.forget(scope, fact)


async def _ranks(memory: Memory, scope: Scope, query: str) -> dict[str, int]:
    """Return the places of the facts that were found, by id."""
    try:
        found = await memory.recall.search(scope, query, topic=TOPIC, max_tokens=SEARCHED_TOKENS)
    except InvalidRequestError:  # nothing in this store is a text
        return {}
    return {one.id: rank for rank, one in enumerate(found.memories)}


def _score(ranks: Mapping[str, int], fact: str | None) -> float | None:
    """Return 1 for the best match, less for each one after it; None for what was not found."""
    rank = ranks.get(fact or "")
    return None if rank is None else 1 / (1 + rank)


def _text_of(value: Mapping[str, Any], index: Sequence[str] | None) -> str:
    """Return the texts of a value, or of the named fields of it."""
    if index is not None and list(index) != ["$"]:
        value = {field: value[field] for field in index if field in value}
    texts = [str(part) for part in value.values() if isinstance(part, str | int | float) and not isinstance(part, bool)]
    return ". ".join(texts)


def _fits(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return all(_compares(value.get(key), condition) for key, condition in (wanted or {}).items())


def _compares(value: Any, condition: Any) -> bool:
    if isinstance(condition, dict) and condition and all(str(name).startswith("$") for name in condition):
        if unknown := condition.keys() - _COMPARISONS.keys():
            raise InvalidRequestError(f"a filter knows no {sorted(unknown)[0]!r}, only {', '.join(_COMPARISONS)}")
        return value is not None and all(_COMPARISONS[name](value, wanted) for name, wanted in condition.items())
    return value == condition


def _matches(namespace: Namespace, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(wanted in ("*", given) for given, wanted in zip(part, path, strict=True))


def _name(namespace: Namespace, key: str) -> str:
    path = "".join(f"{quote(part, safe='')}/" for part in namespace)
    return f"{PREFIX}{path}/{quote(key, safe='')}"


def _parts(name: str) -> tuple[Namespace, str]:
    namespace, _, key = name.removeprefix(PREFIX).rpartition("//")
    return tuple(unquote(part) for part in namespace.split("/") if part), unquote(key)
