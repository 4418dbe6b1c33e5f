"""The message format of a dead letter: ASCII JSON with a compressed turn."""

import base64
import json
import zlib
from datetime import datetime
from typing import Any

from mcp_memory_server.adapters.session_codec.turn_text import turn_from, turn_text
from mcp_memory_server.domain.kernel.scope import Scope, user_and_session
from mcp_memory_server.domain.sessions.queued_turns import DeadLetter, QueuedTurn
from mcp_memory_server.errors import InvalidRequestError

KIND = "mcp-memory-server/dead-letter/1"


def letter_text(letter: DeadLetter) -> str:
    """Return the text. It is ASCII, because SQS refuses some characters that an id may hold."""
    queued = letter.queued
    user, session = user_and_session(queued.scope)
    turn = base64.b64encode(zlib.compress(turn_text(queued.turn).encode())).decode()
    return json.dumps(
        {
            "kind": KIND,
            "user": user,
            "session": session,
            "operation": queued.operation_id,
            "turn_id": queued.turn.id,
            "queued_at": queued.queued_at.isoformat(),
            "died_at": letter.died_at.isoformat(),
            "reason": letter.reason,
            "turn": turn,
        }
    )


def letter_from(text: str) -> DeadLetter | None:
    """Parse a message; None if it is not ours. The reason is dropped, because parse errors quote the text."""
    try:
        said: dict[str, Any] = json.loads(text)
        if said["kind"] != KIND:
            return None
        turn = turn_from(said["turn_id"], zlib.decompress(base64.b64decode(said["turn"], validate=True)).decode())
        scope, queued_at = Scope(said["user"], said["session"]), datetime.fromisoformat(said["queued_at"])
        queued = QueuedTurn(scope, turn, said["operation"], queued_at)
        return DeadLetter(queued, said["reason"], datetime.fromisoformat(said["died_at"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError, zlib.error, InvalidRequestError):
        return None
