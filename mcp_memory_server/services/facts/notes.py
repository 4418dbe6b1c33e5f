"""Notes: feedback and behavioural patterns, which expire."""

from collections.abc import Callable
from datetime import datetime

from mcp_memory_server.domain.facts.notes import Note, NoteKind, expiry
from mcp_memory_server.domain.kernel.credentials import refuse_credentials
from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import note_body, note_from
from mcp_memory_server.schema.user_versions import bump_version
from mcp_memory_server.services.kernel.embeddings import Embeddings
from mcp_memory_server.services.kernel.retries import operation_of


class Notes:
    """The notes of all users."""

    def __init__(self, table: ItemTable, embeddings: Embeddings, now: Callable[[], datetime]) -> None:
        self._table = table
        self._embeddings = embeddings
        self._now = now

    async def add(self, scope: Scope, kind: NoteKind, text: str, *, operation_id: str | None = None) -> Note:
        """Store the note for the lifetime of its kind. A retry with the same operation id is stored once.

        Raises:
            InvalidRequestError: It holds a credential.
        """
        refuse_credentials("note", text)
        now, operation = self._now(), operation_of(operation_id, "note", kind, text)
        note = Note(operation, kind, text, now, expiry(kind, now), scope.session_id)
        body = {**note_body(note), **await self._embeddings.beside(note.text)}
        put = Put(keys.note_key(scope, kind, note.id), body, expires_at=note.expires_at)
        await self._table.write([put, bump_version(scope, put.key)], operation_id=operation)
        return note

    async def all(self, scope: Scope, kind: NoteKind | None = None) -> list[Note]:
        """Return the unexpired notes, newest first, optionally of one kind."""
        prefix = keys.NOTES if kind is None else f"{keys.NOTES}{kind}#"
        page = await self._table.query(keys.partition_of(scope), prefix=prefix, limit=None)
        readable = (note_from(item) for item in page.items if not item.is_damaged)
        return sorted(readable, key=lambda note: note.noted_at, reverse=True)
