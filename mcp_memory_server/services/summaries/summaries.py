"""Summaries of one user: read, told apart from what was forgotten, folded as they age."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.domain.kernel.items import Item, Key
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.language.mentions import is_within_sketch, matches_sketch, sketch
from mcp_memory_server.domain.summaries.folds import without
from mcp_memory_server.domain.summaries.summary import Level, Summary
from mcp_memory_server.errors import TableDamagedError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import sketch_from
from mcp_memory_server.schema.summary_records import summary_from, summary_put
from mcp_memory_server.schema.user_versions import bump_version


@dataclass(frozen=True)
class StoredSummaries:
    """The summaries of a user, and the items that hold them."""

    summaries: Sequence[Summary]
    items: Mapping[Key, Item]
    unreadable: int = 0

    def item_of(self, session: Scope) -> Item | None:
        """Return the item that holds the summary of this session, None if there is none, or none any more."""
        return self.items.get(keys.summary_key(session, Level.SESSION, session.session_id or ""))


@dataclass(frozen=True)
class ForgottenThings:
    """What the user had forgotten, as far as it can be recognised."""

    sketches: Sequence[Sequence[int]]

    def has(self, sentence: str) -> bool:
        """Tell whether a sentence speaks of something that was forgotten."""
        return any(matches_sketch(sentence, sketch) for sketch in self.sketches)

    def taken_from(self, summary: Summary) -> Summary:
        """Return the summary without what was forgotten."""
        told = {*summary.discussed, *summary.preferences, *summary.unresolved}
        sentences = frozenset(sentence for sentence in told if self.has(sentence))
        topics = frozenset(
            topic for topic in summary.topics if any(is_within_sketch(topic, one) for one in self.sketches)
        )
        return without(summary, sentences | topics)


class Summaries:
    """What is left of a user's conversations."""

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
                continue  # it is counted, and told to whoever asks
        return StoredSummaries(read, {item.key: item for item in page.items}, len(page.items) - len(read))

    async def forgotten(self, scope: Scope) -> ForgottenThings:
        """Return what the user had forgotten."""
        page = await self._table.query(keys.user_partition(scope.user_id), prefix=keys.FORGOTTEN, limit=None)
        return ForgottenThings([sketch for item in page.items if (sketch := sketch_from(item))])

    async def take_out(self, scope: Scope, texts: Sequence[str]) -> int:
        """Take every sentence that speaks of one of these out of all summaries, and return of how many."""
        unwanted = ForgottenThings([sketch(text) for text in texts])
        kept, changed = await self.stored(scope), 0
        for summary in kept.summaries:
            item = kept.items[keys.summary_key(scope, summary.level, summary.id)]
            cleaned = unwanted.taken_from(summary)
            if cleaned != summary:
                put = summary_put(scope, cleaned, expected_version=item.version, over=item.body)
                await self._table.write([put, bump_version(scope, put.key)])
                changed += 1
        return changed
