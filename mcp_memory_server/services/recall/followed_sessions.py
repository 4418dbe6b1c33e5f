"""Track which sessions of a user may have turns that the index lacks, so that only those are read again.

1. A session is read when activity in it was published, when this process wrote to it, or when it was listed.
2. After another process published activity, it may add turns unannounced for as long as its lease (``POLLED_FOR``), so
   the session is polled until then. Turns of this process are recorded one by one and need no polling.
3. Each read continues from the last known turn, or from an earlier one that was published as late.
4. If published activity may have been lost, every session is read again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mcp_memory_server.domain.kernel.ulids import first_ulid_of, moment_of
from mcp_memory_server.schema.user_versions import SessionActivity
from mcp_memory_server.services.conversations.past_turns import SessionTurns

POLLED_FOR = timedelta(minutes=90)
"""A writer publishes its activity again within half an hour, and two clocks may differ by half an hour."""
OUT_OF_ORDER = timedelta(minutes=2)
"""Turns written at the same time may arrive out of the order of their ids, by at most this much."""
UNKNOWN_WRITER = "?"


@dataclass
class SessionCursor:
    """How far a session was read: up to ``last``, and again from ``since`` if turns came late.

    ``seen`` are the ids of the turns at its end when it was last read.
    """

    last: str = ""
    since: str | None = None
    seen: frozenset[str] = frozenset()
    is_announced: bool = False
    """Whether every writer of the session has published its activity since the session is followed."""
    others_wrote: bool = True
    """Whether another process may have written to the session since it was last read."""
    leases: dict[str, datetime] = field(default_factory=dict[str, datetime])
    """Until when each writer may add turns unannounced."""

    def is_running(self, now: datetime) -> bool:
        """Check whether a writer may be adding turns."""
        return any(now < until for until in tuple(self.leases.values()))

    def start(self) -> str:
        """Return the id from which on turns may be new."""
        if not self.last:
            return ""
        if self.since is not None and not self.others_wrote:
            return self.since
        overlap = first_ulid_of(moment_of(self.last) - OUT_OF_ORDER)
        return overlap if self.since is None else min(overlap, self.since)

    def restart_from(self, turn_id: str) -> None:
        """Read from this turn on, or from an earlier one that was given before."""
        self.since = turn_id if self.since is None else min(self.since, turn_id)


class FollowedSessions:
    """The sessions of one user. Changed by one task at a time; read from any thread."""

    def __init__(self, writer: str = "") -> None:
        """``writer`` is the name under which this process publishes activity."""
        self._writer = writer
        self._cursors: dict[str, SessionCursor] = {}
        self._unread: set[str] = set()
        self._leased: set[str] = set()
        self.are_listed = False
        """Whether all sessions of the user were listed, and no published activity was lost since."""

    @property
    def has_unread(self) -> bool:
        """Whether a session has to be read because of new activity."""
        return bool(self._unread)

    @property
    def are_read(self) -> bool:
        """Whether every known session was read to its end once."""
        return self.are_listed and not self._unread

    def cursor(self, session_id: str) -> SessionCursor:
        """Return how far a session was read."""
        return self._cursors.get(session_id, SessionCursor())

    def add_listed(self, session_ids: Iterable[str]) -> None:
        """Add sessions that a listing of the table found."""
        self._unread |= {session_id for session_id in session_ids if session_id not in self._cursors}

    def record_activity(
        self, activities: Iterable[SessionActivity], now: datetime, *, is_settled: bool = False
    ) -> None:
        """Record published activity. ``is_settled`` says that all sessions were listed before."""
        for activity in activities:
            cursor = self._cursors.setdefault(activity.session, SessionCursor(is_announced=is_settled))
            if activity.is_over:
                cursor.leases.pop(activity.writer, None)
            elif activity.writer != self._writer:  # turns of this process are recorded one by one
                cursor.leases[activity.writer] = now + POLLED_FOR
                self._leased.add(activity.session)
            cursor.others_wrote = cursor.others_wrote or activity.writer != self._writer
            if activity.since:
                cursor.restart_from(activity.since)
            self._unread.add(activity.session)

    def record_own_writes(self, first_turns: Mapping[str, str], *, is_settled: bool = False) -> None:
        """Record the sessions that this process wrote to, each with the first of the new turns."""
        for session_id, first in first_turns.items():
            self._cursors.setdefault(session_id, SessionCursor(is_announced=is_settled)).restart_from(first)
            self._unread.add(session_id)

    def distrust_activity(self) -> None:
        """Read all sessions again, because published activity may have been lost."""
        self.are_listed = False
        self._unread |= self._cursors.keys()
        for cursor in self._cursors.values():
            cursor.is_announced, cursor.others_wrote = False, True

    def to_read(self, now: datetime) -> list[str]:
        """Return the sessions that may have turns which are not indexed yet."""
        # A copy: another thread may be adding a session.
        running = {name for name in tuple(self._leased) if self._cursors[name].is_running(now)}
        return sorted(self._unread | running)

    def record_read(self, session_id: str, read: SessionTurns, now: datetime) -> None:
        """Record that a session was read to its end."""
        cursor = self._cursors.setdefault(session_id, SessionCursor())
        cursor.seen = read.seen
        self._unread.discard(session_id)
        if read.turns:
            cursor.last = max(cursor.last, read.turns[-1].place.turn_id)
        if read.seen and not cursor.is_announced:
            # Its writer may have published the activity before the session was followed, and may write more.
            cursor.leases[UNKNOWN_WRITER] = moment_of(max(read.seen)) + POLLED_FOR
            self._leased.add(session_id)
        cursor.others_wrote = cursor.is_running(now) or not cursor.is_announced
        if not cursor.is_running(now):
            cursor.leases, cursor.since, cursor.seen = {}, None, frozenset()
            self._leased.discard(session_id)
