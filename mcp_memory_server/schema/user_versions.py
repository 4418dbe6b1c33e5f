"""The stamp of a user: raised by every write, with a note of what the last few writes changed.

A reader that has a copy compares stamps. Where it is only a few writes behind, the notes tell what to read again; where
it is further behind, or a note does not fit in, it reads everything. Each note begins with the mark of its write, which
never recurs: the reader finds its own mark among them, and knows that nothing in between is missing.

Sessions that get turns have notes and a count of their own, so that many changed memories do not push them out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from uuid import uuid4

from mcp_memory_server.domain.kernel.items import PUSHED_KEPT, Body, Item, Key, Update, pushed
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.schema.keys import decoded, encoded, profile_key

STAMP, MARK, RECENT = "stamp", "mark", "recent"
TALKED, TALKS = "talked", "talks"

LONGEST_NOTE = 450
"""Bytes: the longest session id has its place. Most notes take a tenth of it."""

_MARK_LENGTH = 12
_MEMORIES, _TALK, _ENDED_TALK, _ANYTHING = "M", "T", "E", "*"


@dataclass(frozen=True)
class UserVersion:
    """How many writes there were, and the mark of the last one. After a user is erased the count starts again."""

    count: int
    mark: str


@dataclass(frozen=True)
class MemoriesChanged:
    """These sort keys of the user's partition were written or removed."""

    sort_keys: tuple[str, ...]


@dataclass(frozen=True)
class SessionActivity:
    """A session gets turns from a writer, without a note for each: whoever searches looks for new ones, for a while.

    Turns may be new from ``since`` on, if it is not empty: these came late. If it ``is_over``, this writer is done.
    """

    session: str
    writer: str
    since: str = ""
    is_over: bool = False


def bump_version(scope: Scope, *changed: Key, expected_version: int | None = None) -> Update:
    """Return the write that tells every process what was changed; without keys, that anything may have been.

    With the version of the item, it is refused if anything was written in the meantime.
    """
    note = _MEMORIES + "\n".join(key.sk for key in changed)
    raised = _raised(scope, note if changed else _ANYTHING)
    return replace(raised, expected_version=expected_version)


def publish_activity(scope: Scope, writer: str, since: str = "", *, is_over: bool = False) -> Update:
    """Return the write that tells every process that a session gets turns from this writer, or no more."""
    kind = _ENDED_TALK if is_over else _TALK
    talk = f"{kind}{writer} {since or '-'} {encoded(scope.session_id or '')}"
    raised = _raised(scope, _TALK)
    return replace(raised, add={**raised.add, TALKED: 1}, push={**raised.push, TALKS: talk})


def version_from(profile: Item | None) -> UserVersion | None:
    """Read the stamp; a user of whom nothing was ever written has none."""
    if profile is None:
        return None
    count, mark = profile.body.get(STAMP), profile.body.get(MARK)
    return UserVersion(count if isinstance(count, int) else 0, mark if isinstance(mark, str) else "")


def changes_since(before: UserVersion | None, body: Body) -> Sequence[MemoriesChanged] | None:
    """Return what was changed since this stamp, the newest first; None if that is not known any more."""
    count = body.get(STAMP)
    if before is None or not isinstance(count, int) or not 0 < count - before.count < PUSHED_KEPT:
        return None
    notes = pushed(body, RECENT)
    behind = count - before.count
    if len(notes) <= behind or not notes[behind].startswith(before.mark[:_MARK_LENGTH]):
        return None
    changes = [_change_from(note[_MARK_LENGTH:]) for note in notes[:behind]]
    known = [change for change in changes if change is not None]
    return known if len(known) == len(changes) else None


def activity_count(body: Body) -> int:
    """Return how often something was announced about the user's sessions."""
    told = body.get(TALKED)
    return told if isinstance(told, int) else 0


def activity_since(before: int | None, body: Body) -> tuple[Sequence[SessionActivity], bool]:
    """Return what was announced since there were so many announcements, the oldest first, and whether some are lost."""
    notes = pushed(body, TALKS)
    new = None if before is None else activity_count(body) - before
    are_lost = new is None or not 0 <= new <= len(notes)
    return [_talk_from(note) for note in reversed(notes if are_lost else notes[:new])], are_lost


def _raised(scope: Scope, note: str) -> Update:
    mark = uuid4().hex[:_MARK_LENGTH]
    if len(note.encode()) > LONGEST_NOTE:
        note = _ANYTHING
    # After a user is erased the counter starts again; the mark never recurs.
    return Update(profile_key(scope), add={STAMP: 1}, set={MARK: mark}, push={RECENT: mark + note})


def _change_from(note: str) -> MemoriesChanged | None:
    kind, rest = note[:1], note[1:]
    if kind == _MEMORIES:
        return MemoriesChanged(tuple(rest.split("\n")))
    return MemoriesChanged(()) if kind == _TALK else None


def _talk_from(note: str) -> SessionActivity:
    writer, since, session = note[1:].split(" ")
    return SessionActivity(decoded(session), writer, "" if since == "-" else since, note[:1] == _ENDED_TALK)
