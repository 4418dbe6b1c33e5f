"""Session activity: how a process that searches learns which sessions get turns from other processes.

Invariants:

1. A turn is acknowledged only after its session was published as active in the user's version item, or while an
   earlier publication of this process still holds (`PUBLISHED_FOR`). One publication covers all turns of that time.
2. A subscriber looks for new turns of a published session for longer than `PUBLISHED_FOR`, or until the writer
   publishes that it is finished.
3. Subscribers read a session from the last turn that they know. A turn that is written late (`LATE`) may sort before
   that, so it is published with its id: subscribers read again from there.
4. The turns of its own process a subscriber finds in `LocalWrites`, without reading the table.

    idle --first turn: publish--> active --turn--> active --PUBLISHED_FOR over, next turn: publish--> active
                                    |  late turn: publish with its id      ^
                                    +--finish_session(): publish the end--> idle
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Lock
from uuid import uuid4

from mcp_memory_server.concurrency.lru_cache import LruCache
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.sessions.turns import Turn
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema.user_versions import publish_activity

PUBLISHED_FOR = timedelta(minutes=30)
"""How long a publication holds. Subscribers look for new turns for longer than that."""
LATE = timedelta(minutes=1)
"""A turn that is older than this when it is written may sort before turns that subscribers have read already."""
SESSIONS_KNOWN = 10_000

_PUBLISHED_SECONDS = PUBLISHED_FOR.total_seconds()


class LocalWrites:
    """The turns that this process wrote since its subscribers last took them. Used from any thread."""

    def __init__(self) -> None:
        self._name, self._process = _new_name(), os.getpid()
        self._lock = Lock()
        self._written: dict[str, dict[str, str]] = {}

    @property
    def writer(self) -> str:
        """The name under which this process publishes. A forked process gets a name of its own."""
        if self._process != os.getpid():
            self._name, self._process = _new_name(), os.getpid()
        return self._name

    def watch(self, user_id: str) -> None:
        """Record from now on what is written for the user."""
        with self._lock:
            self._written.setdefault(user_id, {})

    def unwatch(self, user_id: str) -> None:
        """Record nothing more for the user."""
        with self._lock:
            self._written.pop(user_id, None)

    def add(self, user_id: str, session_id: str, turn_id: str) -> None:
        """Record that the table has a turn. Whoever asks after this finds it."""
        with self._lock:
            sessions = self._written.get(user_id)
            if sessions is not None:
                sessions[session_id] = min(turn_id, sessions.get(session_id, turn_id))

    def has_any(self, user_id: str) -> bool:
        """Return whether something was written since it was last taken."""
        return bool(self._written.get(user_id))

    def take(self, user_id: str) -> dict[str, str]:
        """Return the sessions written to since the last call, each with the id of its first new turn."""
        with self._lock:
            taken = self._written.get(user_id, {})
            if taken:
                self._written[user_id] = {}
            return taken


@dataclass(frozen=True)
class _Publication:
    """What this process published of a session. It covers late turns from ``since`` on, None if none."""

    at: datetime
    moment: float
    since: str | None

    def holds(self, now: datetime, moment: float) -> bool:
        """Check both clocks: one can be set back, the other stops while a machine sleeps."""
        return moment - self.moment < _PUBLISHED_SECONDS and abs(now - self.at) < PUBLISHED_FOR


class ActivityPublisher:
    """Publishes the activity of this process, and remembers what it published. Used from any thread and event loop."""

    def __init__(
        self, table: ItemTable, local_writes: LocalWrites, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._table = table
        self._local_writes = local_writes
        self._monotonic = monotonic
        self._published = LruCache[Scope, _Publication](SESSIONS_KNOWN)

    async def publish_turn(self, scope: Scope, turn: Turn, now: datetime) -> None:
        """Make sure that subscribers find a turn of the table. It may be acknowledged when this returns.

        Raises:
            TableUnavailableError: The activity could not be published. Put the turn again.
        """
        self._local_writes.add(scope.user_id, scope.session_id or "", turn.id)
        moment = self._monotonic()
        last = self._published.get(scope)
        if last is not None and not last.holds(now, moment):
            last = None
        is_late = now - turn.at > LATE
        if last is not None and (not is_late or (last.since is not None and last.since <= turn.id)):
            return
        await self._table.update(publish_activity(scope, self._local_writes.writer, turn.id if is_late else ""))
        since = turn.id if is_late else None if last is None else last.since
        self._published.put(scope, _Publication(now, moment, since))

    async def finish_session(self, scope: Scope) -> None:
        """Publish that this process writes no more to the session, so that subscribers stop looking for new turns."""
        last = self._published.pop(scope)
        if last is not None:
            writer = self._local_writes.writer
            await self._table.update(publish_activity(scope, writer, last.since or "", is_over=True))


def _new_name() -> str:
    return uuid4().hex[:8]
