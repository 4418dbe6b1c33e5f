"""Delete the file in which earlier releases cached running sessions: it may quote turns that were forgotten since."""

from contextlib import suppress
from pathlib import Path

from mcp_memory_server.adapters.sqlite.files.making import header_of

FILE_NAME = "sessions.db"
APPLICATION_ID = 0x4D656D53


def delete_session_file(table: Path) -> None:
    """Delete the session file beside this table, if there is one and it is ours."""
    path = table.with_name(FILE_NAME)
    with suppress(OSError):  # it is only left over
        header = header_of(path)
        if header is not None and header.application_id == APPLICATION_ID:
            for suffix in ("", "-wal", "-shm"):
                path.with_name(path.name + suffix).unlink(missing_ok=True)
