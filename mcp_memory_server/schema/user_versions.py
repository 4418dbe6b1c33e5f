"""The version of a user's data: raised by every write, with a log of what the last few writes changed.

A process that holds a snapshot compares versions before it uses it. If the snapshot is only a few writes old, the
change log names the items to read again; otherwise everything is read again. Each entry of the log begins with the
nonce of its write, which never recurs: a reader that finds the nonce of its own version in the log knows that no write
in between is missing.

Activity of sessions (turns were added) has a log and a counter of its own, so that many changed memories do not push it
out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from mcp_memory_server.domain.kernel.items import (
    INDEX_PARTITION,
    INDEX_SORT,
    PUSHED_KEPT,
    Body,
    Item,
    Key,
    Update,
    Value,
    pushed,
)
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.schema.keys import decoded, encoded, owned_index, owner_part, profile_key

VERSION_COUNT, VERSION_NONCE, CHANGE_LOG = "stamp", "mark", "recent"
ACTIVITY_COUNT, ACTIVITY_LOG = "talked", "talks"

LONGEST_ENTRY = 450
"""Bytes. An entry that names the longest possible session id fits; most take a tenth of it."""

_NONCE_LENGTH = 12
_MEMORIES, _ACTIVITY, _ACTIVITY_ENDED, _ANYTHING = "M", "T", "E", "*"


@dataclass(frozen=True)
class UserVersion:
    """The number of writes so far and the nonce of the last one. The count starts again after a user is erased."""

    count: int
    nonce: str


@dataclass(frozen=True)
class MemoriesChanged:
    """The items with these sort keys, in the user's partition, were written or deleted."""

    sort_keys: tuple[str, ...]


@dataclass(frozen=True)
class SessionActivity:
    """A writer adds turns to a session. It is published once for many turns, so readers poll the session for a while.

    Turns may be new from ``since`` (a turn id) on; "" means from the last one read. ``is_over`` says that this writer
    is done.
    """

    session: str
    writer: str
    since: str = ""
    is_over: bool = False


def bump_version(scope: Scope, *changed: Key, expected_version: int | None = None) -> Update:
    """Return the write that raises the version and logs the changed keys; without keys, that anything may have changed.

    With ``expected_version``, the version of the stored item, the write is refused if anything was written in the
    meantime.
    """
    entry = _MEMORIES + "\n".join(key.sk for key in changed)
    bumped = _bumped(scope, entry if changed else _ANYTHING)
    return replace(bumped, expected_version=expected_version)


def publish_activity(scope: Scope, writer: str, since: str = "", *, is_over: bool = False) -> Update:
    """Return the write that publishes that this writer adds turns to the session of the scope, or that it is done."""
    kind = _ACTIVITY_ENDED if is_over else _ACTIVITY
    activity = f"{kind}{writer} {since or '-'} {encoded(scope.session_id or '')}"
    bumped = _bumped(scope, _ACTIVITY)
    return replace(bumped, add={**bumped.add, ACTIVITY_COUNT: 1}, push={**bumped.push, ACTIVITY_LOG: activity})


def publish_any_activity(scope: Scope) -> Update:
    """Return the write that publishes that turns may be new in any session: more than the log could name."""
    bumped = _bumped(scope, _ACTIVITY)
    return replace(bumped, add={**bumped.add, ACTIVITY_COUNT: PUSHED_KEPT + 1})


def version_from(profile: Item | None) -> UserVersion | None:
    """Return the version stored in a user's profile item; None if nothing was ever written for the user."""
    if profile is None:
        return None
    count, nonce = profile.body.get(VERSION_COUNT), profile.body.get(VERSION_NONCE)
    return UserVersion(count if isinstance(count, int) else 0, nonce if isinstance(nonce, str) else "")


def changes_since(before: UserVersion | None, body: Body) -> Sequence[MemoriesChanged] | None:
    """Return what was changed since this version, newest first; None if the log does not reach back that far."""
    count = body.get(VERSION_COUNT)
    if before is None or not isinstance(count, int) or not 0 < count - before.count < PUSHED_KEPT:
        return None

    later_writes = count - before.count
    entries = pushed(body, CHANGE_LOG)
    if len(entries) <= later_writes or not entries[later_writes].startswith(before.nonce[:_NONCE_LENGTH]):
        return None
    changes = [_change_from(entry[_NONCE_LENGTH:]) for entry in entries[:later_writes]]
    readable = [change for change in changes if change is not None]
    return readable if len(readable) == len(changes) else None


def activity_count(body: Body) -> int:
    """Return how many activities were ever published for the user's sessions."""
    count = body.get(ACTIVITY_COUNT)
    return count if isinstance(count, int) else 0


def activity_since(before: int | None, body: Body) -> tuple[Sequence[SessionActivity], bool]:
    """Return the activities published since the counter had this value, oldest first, and whether some are lost."""
    entries = pushed(body, ACTIVITY_LOG)
    new = None if before is None else activity_count(body) - before
    are_lost = new is None or not 0 <= new <= len(entries)
    return [_activity_from(entry) for entry in reversed(entries if are_lost else entries[:new])], are_lost


def _bumped(scope: Scope, entry: str) -> Update:
    nonce = uuid4().hex[:_NONCE_LENGTH]
    if len(entry.encode()) > LONGEST_ENTRY:
        entry = _ANYTHING
    # The counter starts again after a user is erased; the nonce never recurs.
    # A damaged item may start anew for the same reason: nobody takes the new version for an old one.
    return Update(
        profile_key(scope),
        add={VERSION_COUNT: 1},
        set={VERSION_NONCE: nonce, **_listed(scope)},
        push={CHANGE_LOG: nonce + entry},
        may_start_anew=True,
    )


def _listed(scope: Scope) -> dict[str, Value]:
    """Return the index entry of an agent or a project, so that it is found when its user is erased."""
    owner = scope.owner
    return {} if owner.user_id is None else {INDEX_PARTITION: owned_index(owner.user_id), INDEX_SORT: owner_part(owner)}


def _change_from(entry: str) -> MemoriesChanged | None:
    kind, rest = entry[:1], entry[1:]
    if kind == _MEMORIES:
        return MemoriesChanged(tuple(rest.split("\n")))
    return MemoriesChanged(()) if kind == _ACTIVITY else None


def _activity_from(entry: str) -> SessionActivity:
    writer, since, session = entry[1:].split(" ")
    return SessionActivity(decoded(session), writer, "" if since == "-" else since, entry[:1] == _ACTIVITY_ENDED)
