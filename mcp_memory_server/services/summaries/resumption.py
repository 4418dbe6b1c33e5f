"""Resuming a conversation: what an agent needs that continues it, in another process or after somebody else."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.status import Status
from mcp_memory_server.domain.recall.memories import UserSnapshot
from mcp_memory_server.domain.recall.restatements import FORGOTTEN
from mcp_memory_server.domain.recall.turn_memories import from_turn, is_withheld
from mcp_memory_server.domain.sessions.turns import Role, Turn, View
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.schema.turn_records import TURNS
from mcp_memory_server.services.kernel.user_memory_cache import UserMemoryCache
from mcp_memory_server.services.sessions.session_reader import SessionReader
from mcp_memory_server.services.summaries.rolling_summaries import RollingSummaries
from mcp_memory_server.services.summaries.summaries import ForgottenThings

TURNS_RESUMED = 40
TOKENS_RESUMED = 4_096
MOST_TURNS = 200
SPOKEN = (Role.USER, Role.ASSISTANT)


@dataclass(frozen=True)
class ConversationSoFar:
    """What user and agents said in a session: the last turns, oldest first, and a summary of those before, if there are
    any. ``turn_count`` counts all turns, those of tools too.
    """

    status: Status
    turns: tuple[Turn, ...]
    turn_count: int
    summary: str | None = None
    missing: tuple[str, ...] = ()


class Resumption:
    """Loads conversations for agents that continue them. What was forgotten is left out."""

    def __init__(self, reader: SessionReader, rolling: RollingSummaries, snapshots: UserMemoryCache) -> None:
        self._reader = reader
        self._rolling = rolling
        self._snapshots = snapshots

    async def load(
        self, scope: Scope, *, turns: int = TURNS_RESUMED, max_tokens: int = TOKENS_RESUMED
    ) -> ConversationSoFar:
        """Return the conversation so far: the newest turns within both limits, and a summary of all before them.

        It takes one query; two more reads if there are turns before them.

        Raises:
            UnavailableError: The table could not be read.
        """
        if not 1 <= turns <= MOST_TURNS:
            raise InvalidRequestError(f"1 to {MOST_TURNS} turns can be resumed, got {turns}")
        session, snapshot = await asyncio.gather(
            self._reader.last(scope.personal, turns, View.EVERYTHING), self._snapshots.of(Scope(scope.user_id))
        )
        spoken = [turn for turn in session.turns if turn.role in SPOKEN and turn.content]
        kept = tuple(_newest(spoken, max_tokens))[::-1]
        summary = None
        if kept and (session.cursor is not None or len(kept) < len(spoken)):
            text = await self._rolling.until(scope, TURNS + kept[0].id)
            summary = _without_forgotten(text, snapshot)
        shown = tuple(_unless_forgotten(scope, turn, snapshot) for turn in kept)
        return ConversationSoFar(session.status, shown, session.turn_count, summary, session.missing)


def _newest(turns: Sequence[Turn], room: int) -> Iterator[Turn]:
    """Yield the turns that fit, the newest first, and at least the newest."""
    for place, turn in enumerate(reversed(turns)):
        # Read without its counter of tokens: a token is rarely shorter than this.
        room -= len(turn.content.encode()) // 3 + 4
        if room < 0 and place:
            return
        yield turn


def _unless_forgotten(scope: Scope, turn: Turn, snapshot: UserSnapshot) -> Turn:
    states_it = is_withheld(from_turn(scope.session_id or "", turn, None), snapshot)
    return replace(turn, content=FORGOTTEN) if states_it else turn


def _without_forgotten(text: str | None, snapshot: UserSnapshot) -> str | None:
    if not text or not snapshot.tombstones:
        return text
    forgotten = ForgottenThings([one.sketch for one in snapshot.tombstones.values() if one.sketch])
    return " · ".join(sentence for sentence in text.split(" · ") if not forgotten.has(sentence)) or None
