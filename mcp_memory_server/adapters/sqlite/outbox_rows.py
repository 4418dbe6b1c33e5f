"""A queued turn as columns of the outbox file, under a checksum: SQLite does not notice a flipped bit by itself."""

import zlib
from datetime import datetime

from mcp_memory_server.adapters.session_codec.turn_text import counted_in, queued_text, turn_from
from mcp_memory_server.domain.kernel.scope import Scope, user_and_session
from mcp_memory_server.domain.sessions.queued_turns import QueuedTurn
from mcp_memory_server.errors import InvalidRequestError

COLUMNS = "user, session, operation, turn_id, queued_at, text, checksum"
COMPRESSED_FROM_BYTES = 1024

Columns = tuple[str, str, str, str, str, bytes, int]

_PLAIN_START = b"{"


def columns_of(queued: QueuedTurn, *more: str) -> Columns:
    """Return the columns. The checksum covers ``more`` too, which the caller keeps beside them."""
    named = (*user_and_session(queued.scope), queued.operation_id, queued.turn.id, queued.queued_at.isoformat())
    text = _packed(queued_text(queued).encode())
    return (*named, text, _checksum(text, *named, *more))


def queued_from(columns: Columns, *more: str) -> QueuedTurn:
    """Read the columns back.

    Raises:
        ValueError: They are not what was written.
    """
    *named, text, checksum = columns
    try:
        if checksum != _checksum(text, *named, *more):
            raise ValueError("the checksum is that of something else")
        user, session, operation, turn_id, queued_at = named
        said = _unpacked(text).decode()
        moment, turn = datetime.fromisoformat(queued_at), turn_from(turn_id, said)
        return QueuedTurn(Scope(user, session), turn, operation, moment, counted_in(said))
    except (
        TypeError,
        AttributeError,
        zlib.error,
        InvalidRequestError,
    ) as error:  # a flipped bit can change the type of a column
        raise ValueError("not the columns of a turn") from error


def _packed(text: bytes) -> bytes:
    return text if len(text) < COMPRESSED_FROM_BYTES else zlib.compress(text)


def _unpacked(text: bytes) -> bytes:
    # No compressed text begins like JSON.
    return text if text.startswith(_PLAIN_START) else zlib.decompress(text)


def _checksum(text: bytes, *others: str) -> int:
    return zlib.crc32(text, zlib.crc32("\n".join(others).encode()))
