"""The states that agents share, in the file of a session memory."""

import json
import secrets
import sqlite3
from datetime import datetime

from mcp_memory_server.adapters.sqlite.session_rows import ONE, Owner
from mcp_memory_server.domain.sessions.cached_session import SharedState
from mcp_memory_server.domain.sessions.limits import STATE_LIFE
from mcp_memory_server.errors import ConflictError


def read_state(connection: sqlite3.Connection, owner: Owner, now: datetime) -> SharedState:
    """Return the shared state, version 0 if there is none."""
    row = connection.execute(
        f"SELECT version, value FROM states WHERE {ONE} AND expires_at > ?", (*owner, now.timestamp())
    ).fetchone()
    return SharedState(None, 0) if row is None else SharedState(json.loads(row[1]), row[0])


def write_state(connection: sqlite3.Connection, owner: Owner, text: str, expected: int, now: datetime) -> int:
    """Replace the shared state and return its version.

    Raises:
        ConflictError: Another version is stored.
    """
    if read_state(connection, owner, now).version != expected:
        raise ConflictError(f"the shared state is no longer at version {expected}; read it again")
    expires_at = (now + STATE_LIFE).timestamp()
    # The mark tells apart two states with one version: after a session was dropped, versions begin anew.
    row = (*owner, expected + 1, secrets.token_bytes(8), text, expires_at)
    connection.execute("REPLACE INTO states VALUES (?, ?, ?, ?, ?, ?)", row)
    return expected + 1


def state_mark(connection: sqlite3.Connection, owner: Owner, now: datetime) -> tuple[int, bytes]:
    """Return the version of the shared state, with what no other write of it has."""
    row = connection.execute(
        f"SELECT version, mark FROM states WHERE {ONE} AND expires_at > ?", (*owner, now.timestamp())
    ).fetchone()
    return row or (0, b"")
