"""Redrive dead letters: put turns that the table refused again."""

from collections.abc import Callable
from dataclasses import dataclass

from mcp_memory_server.domain.sessions.queued_turns import DeadLetter, HeldLetter, QueuedTurn, QueueLength
from mcp_memory_server.errors import ConfigurationError, MemoryServerError, UnavailableError
from mcp_memory_server.ports.dead_letters import DeadLetters
from mcp_memory_server.services.sessions.cache_recording import RECENT, record_in_cache
from mcp_memory_server.services.sessions.session_stores import SessionStores

TAKEN_AT_ONCE = 10


@dataclass(frozen=True)
class Redriven:
    """How many letters the table has now, and those that it refused again, each with the reason."""

    delivered: int
    refused: tuple[tuple[DeadLetter, str], ...]


class Redrive:
    """Lists and replays dead letters. Replaying twice is harmless: the table recognises the operation of a turn."""

    def __init__(self, stores: SessionStores, dead_letters: DeadLetters | None) -> None:
        self._stores = stores
        self._dead_letters = dead_letters

    async def count(self) -> int:
        """Return about how many letters there are."""
        return 0 if self._dead_letters is None else await self._dead_letters.count()

    async def waiting(self) -> QueueLength:
        """Return how many turns wait in the outbox."""
        return QueueLength(0) if self._stores.outbox is None else await self._stores.outbox.length()

    async def letters(self, *, most: int) -> list[DeadLetter]:
        """Return some of the letters, and leave them where they are."""
        dead_letters, held = self._letters(), list[HeldLetter]()
        while len(held) < most and (some := await dead_letters.take(most=min(TAKEN_AT_ONCE, most - len(held)))):
            held += some
        await dead_letters.let_go([one.receipt for one in held])
        return [one.letter for one in held]

    async def replay(self, progress: Callable[[int], None] = lambda _done: None) -> Redriven:
        """Put every letter into the table. One that is refused again stays a dead letter.

        Raises:
            UnavailableError: The table or the dead letters do not answer. What was not replayed is still there.
        """
        dead_letters, delivered = self._letters(), 0
        refused: list[tuple[HeldLetter, str]] = []
        try:
            while held := await dead_letters.take(most=TAKEN_AT_ONCE):
                for one in held:
                    try:
                        await self._deliver(one.letter.queued)
                    except UnavailableError:
                        await dead_letters.let_go([each.receipt for each in held])
                        raise
                    except MemoryServerError as error:
                        refused.append((one, str(error)))
                    else:
                        await dead_letters.remove([one.receipt])
                        delivered += 1
                    progress(delivered + len(refused))
        finally:
            # Only now: they would be taken again at once.
            await dead_letters.let_go([one.receipt for one, _ in refused])
        return Redriven(delivered, tuple((one.letter, reason) for one, reason in refused))

    async def _deliver(self, queued: QueuedTurn) -> None:
        if queued.queued_at <= await self._stores.stored.erased_before(queued.scope.user_id):
            return  # nobody may have it any more, and the letter goes
        known = await self._stores.stored.recent(queued.scope, RECENT)
        if known.get(queued.operation_id, queued.turn.id) == queued.turn.id:
            await self._stores.stored.put(queued.write, again=True)
            if not await record_in_cache(self._stores, queued.write):
                raise UnavailableError("the session cache cannot be reached; redrive again in a few seconds")

    def _letters(self) -> DeadLetters:
        if self._dead_letters is None:
            raise ConfigurationError("no dead letters are kept here; set MCP_MEMORY_DEAD_LETTERS to where they lie")
        return self._dead_letters
