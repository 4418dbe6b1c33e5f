"""The outbox in one SQLite file beside the table."""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from mcp_memory_server.adapters.sqlite import outbox_statements as statements
from mcp_memory_server.adapters.sqlite.outbox_file import DEADLINE, OutboxFile
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.domain.kernel.item_checks import check_operation_id
from mcp_memory_server.domain.kernel.scope import Scope, user_and_session
from mcp_memory_server.domain.sessions.queued_turns import ClaimedTurn, QueuedTurn, QueueLength

_NOTHING: Sequence[QueuedTurn] = ()
_NO_CLAIMS: Sequence[ClaimedTurn] = ()


class SqliteOutbox:
    """Answers the outbox's port on one file, which is made when something is first added.

    Leases and pauses end by the wall clock, because processes share no other one.
    """

    def __init__(self, path: Path, *, now: Callable[[], datetime] = utc_now, deadline: timedelta = DEADLINE) -> None:
        self._file = OutboxFile(path, deadline)
        self._now = now

    async def add(self, queued: QueuedTurn) -> None:
        """See the port."""
        check_operation_id(queued.operation_id)
        user_and_session(queued.scope)
        await self._file.write(lambda connection: statements.add(connection, queued))

    async def waiting(self, scope: Scope) -> Sequence[QueuedTurn]:
        """See the port."""
        line = user_and_session(scope)
        return await self._file.read(lambda connection: statements.waiting(connection, line), otherwise=_NOTHING)

    async def claim(self, owner: str, *, lease: timedelta, most: int) -> Sequence[ClaimedTurn]:
        """See the port. A turn that cannot be read stays in the file, is reported, and holds up its session only."""
        now = self._now()
        wanted = statements.Claim(owner, most, now, now + lease)
        return await self._file.change(lambda connection: statements.claim(connection, wanted), otherwise=_NO_CLAIMS)

    async def remove(self, owner: str, receipts: Sequence[str]) -> None:  # noqa: ARG002
        """See the port. What the table has is removed whoever says so."""
        await self._file.change(lambda connection: statements.remove(connection, receipts), otherwise=None)

    async def put_off(self, owner: str, receipt: str, pause: timedelta) -> None:
        """See the port."""
        due = self._now() + pause
        await self._file.change(lambda connection: statements.put_off(connection, owner, receipt, due), otherwise=None)

    async def release(self, owner: str) -> None:
        """See the port."""
        await self._file.change(lambda connection: statements.release(connection, owner), otherwise=None)

    async def erase(self, user_id: str) -> int:
        """See the port. What was deleted is overwritten, in the file and in its log."""
        erased = await self._file.change(lambda connection: statements.erase(connection, user_id), otherwise=0)
        await self._file.scrub()
        return erased

    async def length(self) -> QueueLength:
        """See the port. What cannot be read counts too."""
        return await self._file.read(statements.length, otherwise=QueueLength(0))

    async def close(self) -> None:
        """See the port."""
        await self._file.close()
