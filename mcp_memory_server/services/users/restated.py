"""Find what gives a forgotten fact away elsewhere, and take it out: sentences of turns, summaries, and logged calls."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from mcp_memory_server.domain.kernel.items import Item, Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.vectors import NO_VECTORS, closeness
from mcp_memory_server.domain.recall.memories import Kind, StoredMemory, UserSnapshot
from mcp_memory_server.domain.recall.restatements import (
    Closeness,
    data_without,
    says_the_same,
    sentences_of,
    share_of_words,
    without_sentences,
)
from mcp_memory_server.domain.recall.turn_memories import from_turn, turn_memory_id
from mcp_memory_server.domain.sessions.turns import Turn
from mcp_memory_server.domain.summaries.extracts import BETWEEN
from mcp_memory_server.errors import ConflictError, MemoryServerError, TableDamagedError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.tool_records import redacted_call, tool_call_from
from mcp_memory_server.schema.turn_records import (
    parts_of,
    redacted_writes,
    rolling_key,
    summary_from,
    turn_from,
)
from mcp_memory_server.services.conversations.past_turns import TurnPlace
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.retries import retry_on_conflict
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.recall.index_registry import IndexRegistry
from mcp_memory_server.services.recall.user_index import UserIndex, place_of, turn_document
from mcp_memory_server.services.summaries.summaries import Summaries

MOST_FOUND = 100
"""So many turns are looked at for each text that is forgotten: the best matches of a recall."""
MOST_TEXTS = 20
"""Of a fact with more earlier values, so many are looked for elsewhere."""
MOST_JUDGED = 120
"""So many sentences are compared with the fine model, which takes some 6 ms for each."""

NOT_ALL_READ = "not all conversations could be searched"


@dataclass(frozen=True)
class Place:
    """A sentence that gives a forgotten fact away, and where: in a turn of a session, a summary or a tool call."""

    kind: str
    text: str
    session_id: str | None = None
    said_at: datetime | None = None


@dataclass(frozen=True)
class _ReadTurn:
    place: TurnPlace
    item: Item
    parts: Sequence[Item]
    turn: Turn


@dataclass(frozen=True)
class Restated:
    """Where else a fact is stated. ``also_known`` are other facts that say the same, which stay."""

    places: tuple[Place, ...] = ()
    sentences: frozenset[str] = frozenset()
    also_known: tuple[StoredMemory, ...] = ()
    missing: tuple[str, ...] = ()
    turns: tuple[_ReadTurn, ...] = field(default=(), repr=False)
    calls: tuple[Item, ...] = field(default=(), repr=False)


class Restatements:
    """Searches the conversations, summaries and logged calls of a user for what was forgotten."""

    def __init__(
        self,
        table: ItemTable,
        snapshots: UserMemoryCache,
        indexes: IndexRegistry,
        embeddings: Embeddings,
        now: Callable[[], datetime],
    ) -> None:
        self._table = table
        self._snapshots = snapshots
        self._indexes = indexes
        self._embeddings = embeddings
        self._now = now
        self._summaries = Summaries(table, now)

    async def find(self, scope: Scope, forgotten: Sequence[StoredMemory]) -> Restated:
        """Return the sentences that say what these memories say, found as recall finds them. Nothing is changed."""
        snapshot, activities = await self._snapshots.with_activity(scope)
        user_index, missing = await self._indexes.of(scope, snapshot, activities)
        texts = list(dict.fromkeys(memory.text for memory in forgotten))[:MOST_TEXTS]
        turns = await self._read(scope, await self._places(user_index, forgotten, texts))
        stored = await self._summaries.stored(scope)
        in_summaries = [
            one for each in stored.summaries for one in (*each.discussed, *each.preferences, *each.unresolved)
        ]
        rolled = await self._rolled(scope, turns)
        others = _other_facts(snapshot, forgotten)
        said = {one.place: sentences_of(one.turn.content) for one in turns}
        every = [
            *(one for some in said.values() for one in some),
            *in_summaries,
            *rolled,
            *(one.text for one in others),
        ]
        unwanted = await self._judged(texts, every)
        unwanted |= await self._sources(forgotten, turns, said, unwanted)
        calls = await self._calls(scope, texts)
        places = [
            *(
                Place("turn", sentence, one.place.session_id, one.turn.at)
                for one in turns
                for sentence in said[one.place]
                if sentence in unwanted
            ),
            *(Place("summary", sentence) for sentence in (*in_summaries, *rolled) if sentence in unwanted),
            *(Place("tool call", tool_call_from(item).name, said_at=tool_call_from(item).at) for item in calls),
        ]
        affected = tuple(one for one in turns if _is_affected(one, unwanted, texts))
        also_known = tuple(one for one in others if one.text in unwanted)
        reasons = (NOT_ALL_READ,) if missing else ()
        return Restated(tuple(places), frozenset(unwanted), also_known, reasons, affected, calls)

    async def redact(self, scope: Scope, found: Restated, texts: Sequence[str]) -> set[str]:
        """Take the sentences out, where they stand; return the sessions whose turns changed."""
        sessions: set[str] = set()
        for one in found.turns:
            await retry_on_conflict(lambda one=one: self._redact_turn(scope, one.place, found.sentences, texts))
            sessions.add(one.place.session_id)
        for session_id in sessions:
            await retry_on_conflict(lambda name=session_id: self._redact_rolled(scope, name, found.sentences))
        for item in found.calls:
            await self._redact_call(item, texts)
        return sessions

    async def _places(
        self, user_index: UserIndex, forgotten: Sequence[StoredMemory], texts: Sequence[str]
    ) -> list[TurnPlace]:
        found: dict[TurnPlace, None] = {}
        for memory in forgotten:
            fact = memory.fact
            if fact is not None and fact.session_id is not None and fact.turn_id is not None:
                named = user_index.places_of_turn(turn_memory_id(fact.session_id, fact.turn_id))
                found.update(dict.fromkeys(named or [TurnPlace(fact.session_id, fact.turn_id)]))
        if not user_index.turns:
            return list(found)
        vectors = await self._embeddings.of_questions(texts, with_fine=False)
        for question in zip(texts, vectors, strict=True):
            matches, _ = user_index.search(
                [question],
                asked_at=self._now(),
                limit=MOST_FOUND,
                times_returned={},
                only=lambda index: list(index.turns),
                few_weak=False,
            )
            names = (name for match in matches for name in (match.id, *match.also))
            found.update(dict.fromkeys(place for name in names if (place := place_of(name)) is not None))
        return list(found)

    async def _read(self, scope: Scope, places: Collection[TurnPlace]) -> list[_ReadTurn]:
        by_key = {place.key(scope): place for place in places}
        items = await self._table.get_many(by_key)
        return [read for key, item in items.items() if (read := await self._read_one(by_key[key], item)) is not None]

    async def _read_one(self, place: TurnPlace, item: Item) -> _ReadTurn | None:
        partition = parts_of(item)
        parts = () if partition is None else (await self._table.query(partition, limit=None)).items
        try:
            return _ReadTurn(place, item, parts, turn_from(item, parts))
        except TableDamagedError:
            return None  # it cannot be read, and so gives nothing away

    async def _rolled(self, scope: Scope, turns: Iterable[_ReadTurn]) -> list[str]:
        sessions = dict.fromkeys(rolling_key(one.place.session(scope)) for one in turns)
        items = await self._table.get_many(sessions)
        return [one for item in items.values() for one in (summary_from(item) or "").split(BETWEEN) if one]

    async def _judged(self, texts: Sequence[str], sentences: Iterable[str]) -> set[str]:
        """Return the sentences that say the same as one of the texts."""
        wanted = list(dict.fromkeys(sentences))
        coarse = await self._coarse([*texts, *wanted])
        unwanted: set[str] = set()
        for place, text in enumerate(texts):
            near = {one: _cosine(coarse[place], coarse[len(texts) + number]) for number, one in enumerate(wanted)}
            promising = sorted(wanted, key=lambda one: -(near[one] or 0.0) - share_of_words(text, one))[:MOST_JUDGED]
            own, *fine = await self._embeddings.fine_of_texts([text, *promising])
            for sentence, vector in zip(promising, fine, strict=True):
                if says_the_same(text, sentence, Closeness(near[sentence], _cosine(own, vector))):
                    unwanted.add(sentence)
        return unwanted

    async def _sources(
        self,
        forgotten: Sequence[StoredMemory],
        turns: Sequence[_ReadTurn],
        said: Mapping[TurnPlace, Sequence[str]],
        unwanted: Collection[str],
    ) -> set[str]:
        """Return the sentences that the facts were learned from, in whatever words: one of each turn that they name."""
        found: set[str] = set()
        for memory in forgotten:
            fact = memory.fact
            for one in turns if fact is not None else ():
                is_source = fact is not None and (one.place.session_id, one.place.turn_id) == (
                    fact.session_id,
                    fact.turn_id,
                )
                if is_source and said[one.place] and not any(sentence in unwanted for sentence in said[one.place]):
                    own, *fine = await self._embeddings.fine_of_texts([memory.text, *said[one.place]])
                    near = [_cosine(own, vector) or 0.0 for vector in fine]
                    worth = {
                        sentence: cosine + share_of_words(memory.text, sentence)
                        for sentence, cosine in zip(said[one.place], near, strict=True)
                    }
                    found.add(max(worth, key=lambda sentence: worth[sentence]))
        return found

    async def _coarse(self, texts: Sequence[str]) -> Sequence[bytes | None]:
        try:
            return await self._embeddings.of_texts(texts)
        except MemoryServerError:
            return [None] * len(texts)  # words alone decide

    async def _calls(self, scope: Scope, texts: Sequence[str]) -> tuple[Item, ...]:
        page = await self._table.query(keys.tools_partition(scope.user_id), limit=None)
        return tuple(item for item in page.items if _call_without(item, texts)[1])

    async def _redact_turn(
        self, scope: Scope, place: TurnPlace, sentences: Collection[str], texts: Collection[str]
    ) -> None:
        item = await self._table.get(place.key(scope))
        read = None if item is None else await self._read_one(place, item)
        if read is None:
            return
        content, _ = without_sentences(read.turn.content, sentences)
        calls, _ = data_without(read.turn.tool_calls, texts)
        page, _ = data_without(read.turn.page_context, texts)
        turn = replace(read.turn, content=content, tool_calls=tuple(calls), page_context=page)
        session = place.session(scope)
        beside = await self._embeddings.beside_turn(session, content)
        for write in redacted_writes(read.item, turn, read.parts, beside):
            if isinstance(write, Put):
                await self._table.put(write)
            else:
                await self._table.delete(write.key)
        snapshot, activities = await self._snapshots.with_activity(scope)
        user_index, _ = await self._indexes.of(scope, snapshot, activities)
        document = turn_document(place)
        user_index.remove([document])
        memory = from_turn(place.session_id, turn, read.item.expires_at)
        user_index.add([(document, memory)], [NO_VECTORS], self._now(), permanent=True)

    async def _redact_rolled(self, scope: Scope, session_id: str, sentences: Collection[str]) -> None:
        item = await self._table.get(rolling_key(Scope(scope.user_id, session_id)))
        if item is None:
            return
        said = (summary_from(item) or "").split(BETWEEN)
        kept = [one for one in said if one not in sentences]
        if kept != said:
            text = BETWEEN.join(kept)
            await self._table.put(Put(item.key, {**item.body, "text": text}, item.version, item.expires_at))

    async def _redact_call(self, item: Item, texts: Sequence[str]) -> None:
        put, _ = _call_without(item, texts)
        try:
            await self._table.put(put)
        except ConflictError:
            return  # it was deleted: a logged call is never changed otherwise


def _call_without(item: Item, texts: Sequence[str]) -> tuple[Put, int]:
    try:
        call = tool_call_from(item)
    except TableDamagedError:
        return Put(item.key, item.body, item.version, item.expires_at), 0
    inputs, of_inputs = data_without(call.inputs, texts)
    output, of_output = _output_without(call.output, texts)
    return redacted_call(item, replace(call, inputs=inputs, output=output)), of_inputs + of_output


def _output_without(output: str, texts: Sequence[str]) -> tuple[str, int]:
    """Return what is left of an output, which often is JSON, perhaps cut off."""
    try:
        data: Any = json.loads(output)
    except ValueError:
        return data_without(output, texts)
    kept, count = data_without(data, texts)
    return (json.dumps(kept, ensure_ascii=False), count) if count else (output, 0)


def _other_facts(snapshot: UserSnapshot, forgotten: Sequence[StoredMemory]) -> list[StoredMemory]:
    known = {memory.id for memory in forgotten}
    return [one for one in snapshot.rows if one.kind is Kind.FACT and one.id not in known]


def _is_affected(one: _ReadTurn, unwanted: Collection[str], texts: Collection[str]) -> bool:
    if any(sentence in unwanted for sentence in sentences_of(one.turn.content)):
        return True
    details = [list(one.turn.tool_calls), one.turn.page_context or {}]
    return data_without(details, texts)[1] > 0


def _cosine(one: bytes | None, other: bytes | None) -> float | None:
    return None if one is None or other is None else closeness(one, other)
