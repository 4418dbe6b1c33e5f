"""Transcripts: old conversations as lines of JSON, to import them.

``{"session": "2023-05-08", "id": "D1:3", "speaker": "Gina", "date": "2023-05-08T13:56", "text": "I lost my job."}``

``session`` and ``text`` are required. ``speaker`` is a name, or one of user, assistant, tool and system, which may also
be given as ``role``. ``date`` may have a time; without a zone it is UTC. ``id`` is returned when the turn is found.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, cast

from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.errors import InvalidRequestError, MemoryServerError

_KNOWN = {"session", "text", "id", "speaker", "role", "date", "intent", "agent"}


@dataclass(frozen=True)
class TranscribedTurn:
    """A turn of an old conversation. The same line always has the same operation id."""

    session_id: str
    turn: NewTurn
    operation_id: str


def transcript_from(lines: Iterable[str]) -> list[TranscribedTurn]:
    """Parse a transcript, in the order of its lines.

    Raises:
        InvalidRequestError: A line is invalid. The message gives its number and what would be right.
    """
    turns: list[TranscribedTurn] = []
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                turns.append(_turn(line, seen))
            except MemoryServerError as error:
                raise InvalidRequestError(f"line {number}: {error}. Nothing was imported") from None
    return turns


def _turn(line: str, seen: dict[str, int]) -> TranscribedTurn:
    entry = _object(line)
    session, text = entry.get("session"), entry.get("text")
    if isinstance(session, bool) or not isinstance(session, str | int) or not str(session).strip():
        raise InvalidRequestError('"session" must name the conversation, for example "2023-05-08"')
    if not isinstance(text, str) or not text.strip():
        raise InvalidRequestError('"text" must hold what was said')
    speaker, source = _text(entry, "speaker"), _text(entry, "id")
    turn = NewTurn(
        _role(entry, speaker),
        text,
        speaker=None if speaker in set(Role) else speaker,
        intent=_text(entry, "intent"),
        agent=_text(entry, "agent"),
        said_at=_moment(entry.get("date")),
        source_id=source,
    )
    return TranscribedTurn(str(session), turn, _operation(f"{session}\n{source}" if source else line, seen))


def _object(line: str) -> Mapping[str, Any]:
    try:
        entry: object = json.loads(line)
    except ValueError as error:
        raise InvalidRequestError(f"not JSON: {error}") from None
    if not isinstance(entry, dict):
        raise InvalidRequestError('a line must be an object such as {"session": "1", "speaker": "user", "text": "…"}')
    known = cast("dict[str, Any]", entry)
    if strange := known.keys() - _KNOWN:
        raise InvalidRequestError(f"{sorted(strange)[0]!r} is not known; a line may have {', '.join(sorted(_KNOWN))}")
    return known


def _role(entry: Mapping[str, Any], speaker: str | None) -> Role:
    role = entry.get("role", speaker if speaker in set(Role) else Role.USER)
    if role not in set(Role):
        raise InvalidRequestError(f'"role" must be one of {", ".join(Role)}, got {role!r}')
    return Role(role)


def _text(entry: Mapping[str, Any], name: str) -> str | None:
    value = entry.get(name)
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InvalidRequestError(f'"{name}" must be text, got {type(value).__name__}')


def _moment(date: object) -> datetime | None:
    if date is None:
        return None
    try:
        moment = datetime.fromisoformat(str(date))
    except ValueError:
        raise InvalidRequestError(f'"date" must look like 2023-05-08T13:56, got {date!r}') from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _operation(name: str, seen: dict[str, int]) -> str:
    """Return the operation id of a line. Two lines with the same content are two turns."""
    seen[name] = seen.get(name, 0) + 1
    content = f"{name}\n{seen[name]}"
    return f"transcript-{hashlib.sha256(content.encode()).hexdigest()[:32]}"
