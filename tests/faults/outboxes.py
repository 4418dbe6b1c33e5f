"""Looking into the outbox of another process, which may be gone."""

from pathlib import Path

from mcp_memory_server.adapters.sqlite.outbox import SqliteOutbox


async def waiting_in(folder: Path) -> int:
    """Return how many turns wait in the outbox of this folder."""
    outbox = SqliteOutbox(folder / "outbox.db")
    try:
        return (await outbox.length()).turns
    finally:
        await outbox.close()
