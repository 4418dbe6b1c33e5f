"""Chats: the one active chat of a user with an agent, and past ones."""

from dataclasses import dataclass, replace
from datetime import datetime

from mcp_memory_server.domain.kernel.scope import check_id
from mcp_memory_server.domain.kernel.text import checked_text
from mcp_memory_server.domain.kernel.ulids import is_ulid, ulid_after
from mcp_memory_server.errors import InvalidRequestError

MAX_TITLE_BYTES = 512


@dataclass(frozen=True)
class Chat:
    """A chat of a user with an agent. It is active until ``deleted_at`` is set; then it is history."""

    id: str
    agent: str
    created_at: datetime
    agent_version: str | None = None
    title: str | None = None
    deleted_at: datetime | None = None

    def __post_init__(self) -> None:
        if not is_ulid(self.id):
            raise InvalidRequestError(f"the id of a chat must be a ULID, got {self.id[:80]!r}")
        check_id("agent", self.agent)
        if self.agent_version is not None:
            check_id("agent_version", self.agent_version)
        if self.title is not None:
            object.__setattr__(self, "title", checked_text("title", self.title, MAX_TITLE_BYTES))


@dataclass(frozen=True)
class ChatPage:
    """Some past chats, newest first. ``cursor`` is None if there are no more."""

    chats: tuple[Chat, ...]
    cursor: str | None = None


def begun(
    agent: str, now: datetime, *, after: str | None, agent_version: str | None = None, title: str | None = None
) -> Chat:
    """Return a new chat whose id sorts after that of the last one."""
    return Chat(ulid_after(after, now), agent, now, agent_version, title)


def ended(chat: Chat, now: datetime) -> Chat:
    """Return the chat as history, which ends no earlier than it began even if the clock stepped back."""
    return replace(chat, deleted_at=max(now, chat.created_at))
