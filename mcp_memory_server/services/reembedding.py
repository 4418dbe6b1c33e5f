"""Vectors for what has none of the model in use: written by an earlier release, under another model, or in haste."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock

from mcp_memory_server.domain.items import Item, Key, Update
from mcp_memory_server.domain.memories import KnownMemory
from mcp_memory_server.errors import (
    ConfigurationError,
    ConflictError,
    InvalidRequestError,
    MemoryServerError,
    TableDamagedError,
    UnavailableError,
)
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.embeddings import embedding_body, embedding_from
from mcp_memory_server.schema.turn_records import parts_of, turn_from
from mcp_memory_server.schema.vector_entries import outdated_vectors, turn_at
from mcp_memory_server.services.background import Background
from mcp_memory_server.services.embeddings import Embeddings
from mcp_memory_server.services.known_memories import memory_from

EMBEDDED_AT_ONCE = 25
MOST_QUEUED = 300_000
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 60.0
TOLD_EVERY = 1_000

logger = logging.getLogger(__name__)

Placed = Callable[[bytes], None]
"""Takes the vector of a memory into the index that lacks it."""


@dataclass(frozen=True)
class Lacking:
    """An item whose text has no vector of the model in use; ``placed`` tells the index, if that lacks it too."""

    key: Key
    placed: Placed | None = None


@dataclass(frozen=True)
class Progress:
    """How many texts were given a vector since the start, and how many wait for one."""

    done: int
    waiting: int


class Reembedding:
    """Gives texts their vectors, in the background, a few at a time, and stores them beside the texts.

    Nothing waits for it and nothing depends on it: what has no vector is found by its words.
    """

    def __init__(self, table: ItemTable, embeddings: Embeddings, background: Background) -> None:
        self._table = table
        self._embeddings = embeddings
        self._background = background
        self._lock = Lock()
        self._queue: deque[Lacking] = deque(maxlen=MOST_QUEUED)
        self._is_running = False
        self._done = 0

    @property
    def progress(self) -> Progress:
        """How far it has come."""
        with self._lock:
            return Progress(self._done, len(self._queue))

    async def vectors(self, memories: Sequence[KnownMemory]) -> list[bytes | None]:
        """Return the vector of each memory: the stored one, or, where the model runs here, one made now."""
        found = [memory.vector for memory in memories]
        lacking = [place for place, vector in enumerate(found) if vector is None]
        if lacking and self._embeddings.run_here:
            made = await self._embeddings.of_texts([memories[place].text for place in lacking])
            for place, vector in zip(lacking, made, strict=True):
                found[place] = vector
        return found

    def add(self, lacking: Sequence[Lacking]) -> None:
        """Queue items, to be seen to when there is time."""
        if not lacking or self._embeddings.model is None:
            return
        with self._lock:
            self._queue.extend(lacking)
            if self._is_running:
                return
            self._is_running = True
        self._background.run(self._work)

    def enter(self, turns: Sequence[Key]) -> None:
        """Queue turns that a vector index lacks, if there is one."""
        if self._embeddings.enter_turns:
            self.add([Lacking(key) for key in turns])

    async def _work(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while batch := self._next():
            try:
                await self._embed(batch)
            except (InvalidRequestError, ConfigurationError, TableDamagedError):
                # It would not work another time either; the rest may.
                logger.warning("%d memories were not embedded", len(batch), exc_info=True)
            except UnavailableError:
                # Whoever waits longest goes first again, when the table or the model is back.
                with self._lock:
                    self._queue.extendleft(reversed(batch))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            else:
                pause = FIRST_PAUSE_SECONDS
                self._tell(len(batch))

    def _next(self) -> list[Lacking]:
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), EMBEDDED_AT_ONCE))]
            self._is_running = bool(batch)
            return batch

    def _tell(self, count: int) -> None:
        with self._lock:
            before, self._done = self._done, self._done + count
            waiting = len(self._queue)
        if before // TOLD_EVERY != self._done // TOLD_EVERY or not waiting:
            logger.info("embedded %d memories, %d to go", self._done, waiting)

    async def _embed(self, batch: Sequence[Lacking]) -> None:
        items = await self._table.get_many({one.key for one in batch})
        texts = {key: text for key, item in items.items() if (text := await self._text(item))}
        vectors = await self._vectors(items, texts)
        for one in batch:
            if one.placed is not None and one.key in vectors:
                one.placed(vectors[one.key])
        stored = (self._store(items[key], texts[key], vector) for key, vector in vectors.items())
        await asyncio.gather(*stored)

    async def _vectors(self, items: Mapping[Key, Item], texts: Mapping[Key, str]) -> dict[Key, bytes]:
        """Return the vector of each text: the stored one where there is one, which only lacks its entry."""
        model = self._embeddings.model or ""
        found = {key: embedding_from(items[key].body, text, model) for key, text in texts.items()}
        stored = {key: vector for key, vector in found.items() if vector is not None}
        lacking = {key: text for key, text in texts.items() if key not in stored}
        made = await self._embeddings.of_texts(list(lacking.values())) if lacking else ()
        return stored | dict(zip(lacking, made, strict=True))

    async def _text(self, item: Item) -> str | None:
        """Return the text that the vector is of, None if the item holds none that can be read."""
        if not item.key.pk.startswith("SESSION#"):
            memory = memory_from(item)
            return None if memory is None else memory.text
        partition = parts_of(item)
        parts = () if partition is None else (await self._table.query(partition, limit=None)).items
        try:
            return turn_from(item, parts).content or None
        except MemoryServerError:
            return None

    async def _store(self, item: Item, text: str, vector: bytes) -> None:
        turn = turn_at(item.key)
        if turn is None:
            body = embedding_body(text, vector, self._embeddings.model or "")
        else:
            body = self._embeddings.stored_with_turn(turn[0].user_id, text, vector)
        if all(item.body.get(name) == value for name, value in body.items()):
            return  # somebody else was faster
        outdated = outdated_vectors(item.body, body)
        try:
            await self._table.update(Update(item.key, set=body, remove=outdated, expected_version=item.version))
        except ConflictError:
            logger.debug("a memory was changed or removed while it was embedded")
