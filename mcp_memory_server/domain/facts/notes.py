"""Notes: feedback from the user and patterns in the user's behaviour. They expire."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from mcp_memory_server.domain.kernel.text import checked_text

MAX_NOTE_BYTES = 4 * 1024


class NoteKind(StrEnum):
    """The kind of a note, which decides how long it lives."""

    FEEDBACK = "feedback"
    PATTERN = "pattern"


LIFE = {NoteKind.FEEDBACK: timedelta(days=180), NoteKind.PATTERN: timedelta(days=30)}


@dataclass(frozen=True)
class Note:
    """A dated observation about the user that is not a fact and expires."""

    id: str
    kind: NoteKind
    text: str
    noted_at: datetime
    expires_at: datetime
    session_id: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", checked_text("note", self.text, MAX_NOTE_BYTES))


def expiry(kind: NoteKind, now: datetime) -> datetime:
    """Return when a note of this kind, made now, expires."""
    return (now + LIFE[kind]).replace(microsecond=0)
