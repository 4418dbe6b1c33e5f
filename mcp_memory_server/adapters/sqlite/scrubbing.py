"""Remove deleted text from the files: empty the write-ahead log, look whether anything is left, and rewrite the file.

Deleted rows are overwritten (`secure_delete`), but the log keeps the pages from before, and a page that was split keeps
parts of its rows in the gap between them. A reader that holds an old snapshot keeps the log from being emptied.
"""

import json
import mmap
import sqlite3
import time
from collections.abc import Collection
from contextlib import closing
from pathlib import Path

from mcp_memory_server.adapters.sqlite.files.file import connect

ATTEMPTS, PAUSE_SECONDS, TIMEOUT_MILLISECONDS = 3, 0.1, 700
PIECE_BYTES, MOST_PIECES = 16, 12
"""What is left of a row may be cut off, so pieces of the text are searched for; a shorter text is one piece."""
SHORTEST_PIECE = 4


def empty_log(connection: sqlite3.Connection, attempts: int = ATTEMPTS) -> bool:
    """Write the log into the file and cut it to nothing; return whether that was possible."""
    (before,) = connection.execute("PRAGMA busy_timeout").fetchone()
    connection.execute(f"PRAGMA busy_timeout = {TIMEOUT_MILLISECONDS}")
    try:
        for attempt in range(attempts):
            if attempt:
                time.sleep(PAUSE_SECONDS)
            try:
                is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            except sqlite3.OperationalError:
                continue  # another process empties it at this moment
            if not is_busy:
                return True
    finally:
        connection.execute(f"PRAGMA busy_timeout = {before}")
    return False


def scrub_file(path: Path, connection: sqlite3.Connection, texts: Collection[str]) -> bool:
    """Remove deleted content from the file and its log; return whether none of these texts is left beside the rows.

    The file is rewritten only if one is.
    """
    if not empty_log(connection):
        return False
    wanted = {piece for text in texts for piece in _pieces(text)}
    if not any(_is_beside_rows(path, connection, one) for one in wanted):
        return True
    with closing(connect(path)) as rewriting:
        rewriting.execute("VACUUM")
    return empty_log(connection) and not any(_is_beside_rows(path, connection, one) for one in wanted)


def _pieces(text: str) -> list[str]:
    """Return pieces of the text as rows have it: in JSON."""
    in_json = json.dumps(text, ensure_ascii=False)[1:-1].encode()
    step = max(PIECE_BYTES, len(in_json) // MOST_PIECES)
    pieces = [in_json[start : start + PIECE_BYTES].decode(errors="ignore") for start in range(0, len(in_json), step)]
    return [piece for piece in pieces if len(piece.encode()) >= min(PIECE_BYTES - 4, max(SHORTEST_PIECE, len(in_json)))]


def _is_beside_rows(path: Path, connection: sqlite3.Connection, text: str) -> bool:
    """Check whether the file holds the text more often than its rows do: what is more was deleted."""
    in_file = _occurrences(path, text.encode())
    if not in_file:
        return False
    (in_rows,) = connection.execute(
        "SELECT coalesce(sum((length(body) - length(replace(body, ?1, ''))) / length(?1)), 0) FROM items "
        "WHERE instr(body, ?1)",
        (text,),
    ).fetchone()
    return in_file > in_rows


def _occurrences(path: Path, wanted: bytes) -> int:
    count = place = 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        while (place := content.find(wanted, place)) >= 0:
            count, place = count + 1, place + len(wanted)
    return count
