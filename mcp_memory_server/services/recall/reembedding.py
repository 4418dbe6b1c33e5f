"""Compute missing vectors in the background: of texts stored by an earlier release, with another model, or in haste."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock

from mcp_memory_server.concurrency.event_loop_thread import EventLoopThread
from mcp_memory_server.domain.kernel.items import Item, Key, Update
from mcp_memory_server.domain.kernel.vectors import NO_VECTORS, Vectors
from mcp_memory_server.domain.recall.memories import StoredMemory
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
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.user_memory_cache import memory_from

EMBEDDED_AT_ONCE = 25
MOST_WAITED_FOR, LONGEST_WAIT_SECONDS = 64, 1.5
"""For so many fine vectors a question waits, and so long: they take a second with numpy, and with onnxruntime a quarter
of that."""
MOST_QUEUED = 300_000
FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.5, 60.0
LOGGED_EVERY = 1_000

logger = logging.getLogger(__name__)

OnVectors = Callable[[Vectors], None]
"""Receives the vectors of a memory for the search index."""


@dataclass(frozen=True)
class MissingVectors:
    """An item whose text lacks a vector of a model in use.

    ``on_vectors`` updates the search index if it lacks the vector too; ``made`` are vectors of this text computed
    already.
    """

    key: Key
    on_vectors: OnVectors | None = None
    made: tuple[str, Vectors] | None = None


@dataclass(frozen=True)
class Progress:
    """The number of texts embedded since the start, and of those queued."""

    done: int
    waiting: int


class Reembedding:
    """Computes vectors in the background, a few at a time, and stores them beside the texts.

    Nothing waits for it and nothing depends on it: a text without a vector is found by its words.
    """

    def __init__(self, table: ItemTable, embeddings: Embeddings, background: EventLoopThread) -> None:
        self._table = table
        self._embeddings = embeddings
        self._background = background
        self._lock = Lock()
        self._queue: deque[MissingVectors] = deque(maxlen=MOST_QUEUED)
        self._is_running = False
        self._done = 0

    @property
    def progress(self) -> Progress:
        """The progress so far."""
        with self._lock:
            return Progress(self._done, len(self._queue))

    def lacks_vectors(self, memory: StoredMemory) -> bool:
        """Check whether a vector of a model in use is not stored beside a memory."""
        models, vectors = self._embeddings.models, memory.vectors
        lacks_fine = models.fine is not None and memory.is_short and vectors.fine is None
        return lacks_fine or (models.coarse is not None and vectors.coarse is None)

    async def vectors(self, memories: Sequence[StoredMemory]) -> list[Vectors]:
        """Return the vectors of each memory: the stored ones, and new ones that are quick to compute.

        These are coarse ones if that model runs in this process, and fine ones if only a few memories lack them: a user
        who saves some facts and asks at once, while the model is being loaded, waits for them.
        """
        found = [memory.vectors for memory in memories]
        missing = [place for place, vectors in enumerate(found) if vectors.coarse is None]
        if missing and self._embeddings.run_here:
            made = await self._embeddings.of_texts([memories[place].searched_text for place in missing])
            for place, vector in zip(missing, made, strict=True):
                found[place] = replace(found[place], coarse=vector)
        short = [place for place, one in enumerate(memories) if one.is_short and found[place].fine is None]
        if len(short) <= MOST_WAITED_FOR:
            with suppress(TimeoutError):  # the model is busy with an import: these are computed in the background
                async with asyncio.timeout(LONGEST_WAIT_SECONDS):
                    fine = await self._embeddings.fine_of_texts([memories[place].searched_text for place in short])
                for place, vector in zip(short, fine, strict=True):
                    found[place] = replace(found[place], fine=vector)
        return found

    def add(self, missing: Sequence[MissingVectors]) -> None:
        """Queue items."""
        if not missing or self._embeddings.model is None:
            return
        with self._lock:
            self._queue.extend(missing)
            if self._is_running:
                return
            self._is_running = True
        self._background.submit(self._work)

    def add_to_vector_index(self, turns: Sequence[Key]) -> None:
        """Queue turns that a vector index lacks, if there is one."""
        if self._embeddings.enter_turns:
            self.add([MissingVectors(key) for key in turns])

    async def _work(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        while batch := self._next():
            try:
                await self._embed(batch)
            except (InvalidRequestError, ConfigurationError, TableDamagedError):
                # A retry would fail too; other batches may succeed.
                logger.warning("%d memories were not embedded", len(batch), exc_info=True)
            except UnavailableError:
                # The batch stays first in the queue until the table or the model is available again.
                with self._lock:
                    self._queue.extendleft(reversed(batch))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            else:
                pause = FIRST_PAUSE_SECONDS
                self._log_progress(len(batch))

    def _next(self) -> list[MissingVectors]:
        with self._lock:
            batch = [self._queue.popleft() for _ in range(min(len(self._queue), EMBEDDED_AT_ONCE))]
            self._is_running = bool(batch)
            return batch

    def _log_progress(self, count: int) -> None:
        with self._lock:
            before, self._done = self._done, self._done + count
            waiting = len(self._queue)
        if before // LOGGED_EVERY != self._done // LOGGED_EVERY or not waiting:
            logger.info("embedded %d memories, %d to go", self._done, waiting)

    async def _embed(self, batch: Sequence[MissingVectors]) -> None:
        items = await self._table.get_many({one.key for one in batch})
        texts = {key: text for key, item in items.items() if (text := await self._text(item))}
        made = {one.key: one.made[1] for one in batch if one.made is not None and texts.get(one.key) == one.made[0]}
        vectors = await self._vectors(items, texts, made)
        for one in batch:
            if one.on_vectors is not None and one.key in vectors:
                one.on_vectors(vectors[one.key])
        stored = (self._store(items[key], texts[key], found) for key, found in vectors.items())
        await asyncio.gather(*stored)

    async def _vectors(
        self, items: Mapping[Key, Item], texts: Mapping[Key, str], made: Mapping[Key, Vectors]
    ) -> dict[Key, Vectors]:
        """Return the vectors of each text: stored ones, those computed already, and new ones."""
        stored = {
            key: embedding_from(items[key].body, text, self._embeddings.models).or_else(made.get(key, NO_VECTORS))
            for key, text in texts.items()
        }
        coarse = {key: texts[key] for key, vectors in stored.items() if vectors.coarse is None}
        fine = {key: texts[key] for key, vectors in stored.items() if vectors.fine is None and turn_at(key) is None}
        made_coarse = dict(zip(coarse, await self._coarse(list(coarse.values())), strict=True))
        made_fine = dict(zip(fine, await self._embeddings.fine_of_texts(list(fine.values())), strict=True))
        return {
            key: Vectors(vectors.coarse or made_coarse.get(key), vectors.fine or made_fine.get(key))
            for key, vectors in stored.items()
        }

    async def _coarse(self, texts: Sequence[str]) -> Sequence[bytes]:
        return await self._embeddings.of_texts(texts) if texts else ()

    async def _text(self, item: Item) -> str | None:
        """Return the text that is embedded; None if the item holds none that can be read."""
        if not item.key.pk.startswith("SESSION#"):
            memory = memory_from(item)
            return None if memory is None else memory.searched_text
        partition = parts_of(item)
        parts = () if partition is None else (await self._table.query(partition, limit=None)).items
        try:
            return turn_from(item, parts).content or None
        except MemoryServerError:
            return None

    async def _store(self, item: Item, text: str, vectors: Vectors) -> None:
        turn = turn_at(item.key)
        if turn is None or vectors.coarse is None:
            body = embedding_body(text, vectors, self._embeddings.models)
        else:
            body = self._embeddings.stored_with_turn(turn[0].user_id, text, vectors.coarse)
        if all(item.body.get(name) == value for name, value in body.items()):
            return  # another process stored it already
        outdated = outdated_vectors(item.body, body)
        try:
            await self._table.update(Update(item.key, set=body, remove=outdated, expected_version=item.version))
        except ConflictError:
            logger.debug("a memory was changed or removed while it was embedded")
