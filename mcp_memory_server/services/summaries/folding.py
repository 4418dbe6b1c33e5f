"""Folding: merging summaries of sessions into weeks, and weeks into months and the profile, a few at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from mcp_memory_server.domain.kernel.items import Delete, Write
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.summaries.folds import folded, folds, narrated
from mcp_memory_server.domain.summaries.summary import LIFE, NARRATIVE_ID, Level, Summary
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.summary_records import owner_of_summary, summary_put
from mcp_memory_server.schema.user_versions import bump_version
from mcp_memory_server.services.kernel.retries import retry_on_conflict
from mcp_memory_server.services.summaries.summaries import StoredSummaries, Summaries

FOUND_AT_ONCE = 200


@dataclass(frozen=True)
class Folded:
    """How many users had something to fold, and how many of their summaries are now part of others."""

    users: int = 0
    summaries: int = 0


class Folding:
    """Folds what is old enough. A summary is deleted by the write that merges it: interrupting loses nothing."""

    def __init__(self, table: ItemTable, summaries: Summaries, now: Callable[[], datetime]) -> None:
        self._table = table
        self._summaries = summaries
        self._now = now

    async def fold_due(self, progress: Callable[[Folded], None] = lambda _: None) -> Folded:
        """Fold for every user who has something to fold, as the index lists them by day."""
        done, users = Folded(), set[str]()
        today = self._now().astimezone(UTC).date()
        day = today - LIFE - timedelta(days=1)  # what is older has expired
        while day <= today:
            cursor: str | None = None
            while True:
                page = await self._table.find(keys.fold_index(day), limit=FOUND_AT_ONCE, cursor=cursor)
                for user in dict.fromkeys(owner_of_summary(key).user_id for key in page.keys):
                    if user not in users:
                        users.add(user)
                        done = Folded(len(users), done.summaries + await self.fold(Scope(user)))
                        progress(done)
                if (cursor := page.cursor) is None:
                    break
            day += timedelta(days=1)
        return done

    async def fold(self, scope: Scope) -> int:
        """Fold what is old enough of one user, and return how many summaries that were."""
        done = 0
        # A week that was just made may be old enough for its month.
        while some := await retry_on_conflict(lambda: self._fold_some(scope)):
            done += some
        return done

    async def _fold_some(self, scope: Scope) -> int:
        stored = await self._summaries.stored(scope)
        plan = folds(stored.summaries, self._now())
        if not plan:
            return 0
        level, name, parts = plan[0]
        existing = _find(stored, level, name)
        writes: list[Write] = [_put(scope, stored, folded(level, name, existing, parts))]
        if level is Level.MONTH:
            profile = _find(stored, Level.PROFILE, NARRATIVE_ID)
            writes.append(_put(scope, stored, narrated(profile, parts)))
        for part in parts:
            item = stored.items[keys.summary_key(scope, part.level, part.id)]
            writes.append(Delete(item.key, item.version))
        await self._table.write(
            [*writes, bump_version(scope, *(write.key for write in writes))], operation_id=uuid4().hex
        )
        return len(parts)


def _find(stored: StoredSummaries, level: Level, name: str) -> Summary | None:
    return next((one for one in stored.summaries if (one.level, one.id) == (level, name)), None)


def _put(scope: Scope, stored: StoredSummaries, summary: Summary) -> Write:
    item = stored.items.get(keys.summary_key(scope, summary.level, summary.id))
    version, over = (0, None) if item is None else (item.version, item.body)
    return summary_put(scope, summary, expected_version=version, over=over)
