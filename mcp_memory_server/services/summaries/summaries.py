"""Summaries of one user: reading them, storing one of a session, and removing from them what was forgotten."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from uuid import uuid4

from mcp_memory_server.domain.kernel.items import Item, Key, Write
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.language.mentions import is_within_sketch, matches_sketch, sketch
from mcp_memory_server.domain.summaries.agent_summaries import AGENT
from mcp_memory_server.domain.summaries.folds import without
from mcp_memory_server.domain.summaries.summary import Level, Summary
from mcp_memory_server.errors import ConflictError, TableDamagedError, UnavailableError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import sketch_from
from mcp_memory_server.schema.summary_records import summary_from, summary_put
from mcp_memory_server.schema.user_versions import bump_version

WRITE_ATTEMPTS = 8
"""So often a summary is written while others write for the same user."""


@dataclass(frozen=True)
class StoredSummaries:
    """The summaries of a user, and the items that hold them."""

    summaries: Sequence[Summary]
    items: Mapping[Key, Item]
    unreadable: int = 0

    def item_of(self, session: Scope) -> Item | None:
        """Return the item that holds the summary of this session; None if there is none, or it was folded."""
        return self.items.get(keys.summary_key(session, Level.SESSION, session.session_id or ""))

    def of_others(self, session: Scope) -> list[Summary]:
        """Return the summaries of everything but this session."""
        return [one for one in self.summaries if one.id != session.session_id]

    def by_agent(self, session: Scope) -> Summary | None:
        """Return the summary of this session if its agent wrote it."""
        own = (one for one in self.summaries if (one.level, one.id) == (Level.SESSION, session.session_id))
        return next((one for one in own if one.made_by == AGENT), None)


@dataclass(frozen=True)
class ForgottenThings:
    """What the user has forgotten, as sketches by which sentences about it are recognised."""

    sketches: Sequence[Sequence[int]]

    def has(self, sentence: str) -> bool:
        """Return whether a sentence is about something that was forgotten."""
        return any(matches_sketch(sentence, sketch) for sketch in self.sketches)

    def taken_from(self, summary: Summary) -> Summary:
        """Return the summary without what was forgotten."""
        candidates = {*summary.discussed, *summary.preferences, *summary.unresolved}
        sentences = frozenset(sentence for sentence in candidates if self.has(sentence))
        topics = frozenset(
            topic for topic in summary.topics if any(is_within_sketch(topic, one) for one in self.sketches)
        )
        return without(summary, sentences | topics)


class Summaries:
    """Reads and writes the summaries of users."""

    def __init__(self, table: ItemTable, now: Callable[[], datetime]) -> None:
        self._table = table
        self._now = now

    async def all(self, scope: Scope) -> list[Summary]:
        """Return all of them, oldest first."""
        return sorted((await self.stored(scope)).summaries, key=lambda summary: summary.until)

    async def stored(self, scope: Scope) -> StoredSummaries:
        """Return them with the items that hold them, in one query."""
        page = await self._table.query(keys.user_partition(scope.user_id), prefix=keys.SUMMARIES, limit=None)
        read: list[Summary] = []
        for item in page.items:
            try:
                read.append(summary_from(item))
            except TableDamagedError:
                continue  # counted below, and reported with every answer
        return StoredSummaries(read, {item.key: item for item in page.items}, len(page.items) - len(read))

    async def forgotten(self, scope: Scope) -> ForgottenThings:
        """Return what the user has forgotten."""
        page = await self._table.query(keys.user_partition(scope.user_id), prefix=keys.FORGOTTEN, limit=None)
        return ForgottenThings([sketch for item in page.items if (sketch := sketch_from(item))])

    async def put(self, scope: Scope, summary: Summary) -> None:
        """Store a summary in the place of the one that is there.

        Raises:
            UnavailableError: The table did not take it.
        """
        for _ in range(WRITE_ATTEMPTS):
            with suppress(ConflictError):  # others wrote for the same user at the same moment
                await self._table.write(await self.writes_of(scope, summary), operation_id=uuid4().hex)
                return
        raise UnavailableError("others kept writing for the same user; end the session again")

    async def writes_of(self, scope: Scope, summary: Summary) -> list[Write]:
        """Return the writes that store a summary, refused if the one that is there changes in the meantime."""
        item = await self._table.get(keys.summary_key(scope, summary.level, summary.id))
        version, over = (0, None) if item is None else (item.version, item.body)
        put = summary_put(scope, summary, expected_version=version, over=over)
        return [put, bump_version(scope.personal, put.key)]

    async def take_out(self, scope: Scope, texts: Sequence[str], sentences: Collection[str] = ()) -> int:
        """Remove these sentences, and every sentence about one of these texts, from all summaries.

        Return how many summaries changed.
        """
        unwanted = ForgottenThings([sketch(text) for text in texts])
        stored, changed = await self.stored(scope), 0
        for summary in stored.summaries:
            item = stored.items[keys.summary_key(scope, summary.level, summary.id)]
            cleaned = without(unwanted.taken_from(summary), frozenset(sentences))
            if cleaned != summary:
                put = summary_put(scope, cleaned, expected_version=item.version, over=item.body)
                await self._table.write([put, bump_version(scope.personal, put.key)])
                changed += 1
        return changed
