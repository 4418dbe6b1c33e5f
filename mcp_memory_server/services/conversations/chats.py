"""Chats: one that a user and an agent have going, and those they had before."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from mcp_memory_server.domain.conversations.chat_lifecycle import Chat, ChatPage, begun, ended
from mcp_memory_server.domain.kernel.items import Item, Put, Update, Write
from mcp_memory_server.domain.kernel.page_limits import check_limit
from mcp_memory_server.domain.kernel.scope import Scope, check_id
from mcp_memory_server.domain.kernel.ulids import is_ulid
from mcp_memory_server.errors import ConflictError, NotFoundError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.chat_records import (
    AGENT_VERSION,
    BEGUN_BY,
    ENDED_BY,
    chat_body,
    chat_from,
    last_chat_id,
    no_chat_body,
)
from mcp_memory_server.services.kernel.retries import operation_of, retry_on_conflict

DEFAULT_CHATS = 20
RECENT = 20
"""How many past chats are looked at for an operation that may be a repetition."""
PLACES = 4
"""A chat lies in one place; while the index catches up it may name an earlier one too."""


@dataclass(frozen=True)
class _Change:
    """What an operation does to the chats with an agent. ``attribute`` is where its chat stores its id."""

    agent: str
    operation: str
    attribute: str
    decide: Callable[[Item | None], tuple[Chat, list[Write]]]
    may_be_repeated: bool


class Chats:
    """At most one active chat of a user with an agent. No chat is lost: what is over is history.

    They do not raise the version of the user, whose snapshot holds no chats.
    """

    def __init__(self, table: ItemTable, now: Callable[[], datetime]) -> None:
        self._table = table
        self._now = now

    async def create(
        self,
        scope: Scope,
        agent: str,
        *,
        agent_version: str | None = None,
        title: str | None = None,
        operation_id: str | None = None,
    ) -> Chat:
        """Begin a chat where none is active. The same operation id twice begins one.

        Raises:
            ConflictError: One is active. Nothing was written.
        """
        operation = operation_of(operation_id, "create chat", agent)

        def decide(place: Item | None) -> tuple[Chat, list[Write]]:
            if place is not None and chat_from(place) is not None:
                raise ConflictError("a chat is active")
            chat = begun(agent, self._now(), after=last_chat_id(place), agent_version=agent_version, title=title)
            return chat, [_begin(scope, chat, place, operation)]

        try:
            return await self._make(scope, _Change(agent, operation, BEGUN_BY, decide, operation_id is not None))
        except ConflictError:
            raise ConflictError(f"a chat with {agent[:80]!r} is active; renew it, or delete it first") from None

    async def renew(
        self,
        scope: Scope,
        agent: str,
        *,
        agent_version: str | None = None,
        title: str | None = None,
        operation_id: str | None = None,
    ) -> Chat:
        """Begin a new chat; the active one, if there is one, becomes history in the same step.

        The same operation id twice begins one.
        """
        operation = operation_of(operation_id, "renew chat", agent)

        def decide(place: Item | None) -> tuple[Chat, list[Write]]:
            now, writes = self._now(), list[Write]()
            if place is not None and (earlier := chat_from(place)) is not None:
                writes.append(_end(scope, ended(earlier, now), place, operation))
            chat = begun(agent, now, after=last_chat_id(place), agent_version=agent_version, title=title)
            return chat, [_begin(scope, chat, place, operation), *writes]

        change = _Change(agent, operation, BEGUN_BY, decide, operation_id is not None)
        return await retry_on_conflict(lambda: self._make(scope, change))

    async def delete(self, scope: Scope, agent: str, *, operation_id: str | None = None) -> Chat:
        """End the active chat and return it as history, with the time of its deletion.

        The same operation id twice ends one, even if another began in between.

        Raises:
            NotFoundError: None is active.
        """
        operation = operation_of(operation_id, "delete chat", agent)

        def decide(place: Item | None) -> tuple[Chat, list[Write]]:
            if place is None or (chat := chat_from(place)) is None:
                raise NotFoundError(f"no chat with {agent[:80]!r} is active")
            chat = ended(chat, self._now())
            empty = Put(place.key, no_chat_body(chat), expected_version=place.version)
            return chat, [empty, _end(scope, chat, place, operation)]

        change = _Change(agent, operation, ENDED_BY, decide, operation_id is not None)
        return await retry_on_conflict(lambda: self._make(scope, change))

    async def set_agent_version(
        self, scope: Scope, chat_id: str, version: str, *, operation_id: str | None = None
    ) -> Chat:
        """Note which version of its agent an active chat is held with. History does not change.

        Raises:
            NotFoundError: No active chat of the user has this id.
        """
        check_id("agent_version", version)
        operation = operation_of(operation_id, "agent version", chat_id, version)
        return await retry_on_conflict(lambda: self._set_agent_version(scope, chat_id, version, operation))

    async def active(self, scope: Scope, agent: str) -> Chat | None:
        """Return the active chat with the agent, None if there is none."""
        place = await self._place(scope, agent)
        return None if place is None else chat_from(place)

    async def all_active(self, scope: Scope) -> list[Chat]:
        """Return the active chats of the user with all agents."""
        page = await self._table.query(keys.user_partition(scope.user_id), prefix=keys.ACTIVE_CHATS, limit=None)
        return [chat for item in page.items if (chat := chat_from(item)) is not None]

    async def past(
        self, scope: Scope, agent: str, *, limit: int = DEFAULT_CHATS, cursor: str | None = None
    ) -> ChatPage:
        """Return the chats with the agent that are over, newest first. A cursor continues where a page ended."""
        check_id("agent", agent)
        check_limit(limit)
        page = await self._table.query(
            keys.user_partition(scope.user_id),
            prefix=keys.past_chats_prefix(agent),
            descending=True,
            limit=limit,
            cursor=cursor,
        )
        chats = (chat_from(item) for item in page.items if not item.is_damaged)
        return ChatPage(tuple(chat for chat in chats if chat is not None), page.cursor)

    async def _make(self, scope: Scope, change: _Change) -> Chat:
        place = await self._place(scope, change.agent)
        if change.may_be_repeated and (repeated := await self._repeated(scope, change, place)) is not None:
            return repeated
        chat, writes = change.decide(place)
        await self._table.write(writes, operation_id=change.operation)
        if change.may_be_repeated:  # and if it ran twice at once, the other one may have been first
            chat = await self._repeated(scope, change, await self._place(scope, change.agent)) or chat
        return chat

    async def _repeated(self, scope: Scope, change: _Change, place: Item | None) -> Chat | None:
        """Return the chat that this very operation began or ended before, None if it did not run yet.

        The past is read after the place: a chat moves from the one to the other, so it is seen in one of them.
        """
        page = await self._table.query(
            keys.user_partition(scope.user_id),
            prefix=keys.past_chats_prefix(change.agent),
            descending=True,
            limit=RECENT,
        )
        stored = page.items if place is None else (place, *page.items)
        return next((chat_from(item) for item in stored if item.body.get(change.attribute) == change.operation), None)

    async def _set_agent_version(self, scope: Scope, chat_id: str, version: str, operation: str) -> Chat:
        place = await self._place_of(scope, chat_id)
        # The version of a place never starts again: if another chat is there by now, this is refused.
        change = Update(place.key, set={AGENT_VERSION: version}, expected_version=place.version)
        chat = chat_from(await self._table.update(change, operation_id=operation))
        if chat is None or chat.id != chat_id:
            raise ConflictError("another chat is there by now")
        return chat

    async def _place(self, scope: Scope, agent: str) -> Item | None:
        check_id("agent", agent)
        return await self._table.get(keys.active_chat_key(scope, agent))

    async def _place_of(self, scope: Scope, chat_id: str) -> Item:
        if is_ulid(chat_id):
            partition = keys.user_partition(scope.user_id)
            listed = (await self._table.find(keys.chat_index(scope, chat_id), limit=PLACES)).keys
            found = await self._table.get_many([key for key in listed if key.pk == partition])
            if (place := _holding(chat_id, found.values())) is not None:
                return place
            # The index may not know it yet: the places themselves do.
            page = await self._table.query(partition, prefix=keys.ACTIVE_CHATS, limit=None)
            if (place := _holding(chat_id, page.items)) is not None:
                return place
        raise NotFoundError(f"no active chat has the id {chat_id[:80]!r}")


def _begin(scope: Scope, chat: Chat, place: Item | None, operation: str) -> Put:
    body = {**chat_body(scope, chat), BEGUN_BY: operation}
    version = 0 if place is None else place.version
    return Put(keys.active_chat_key(scope, chat.agent), body, expected_version=version)


def _end(scope: Scope, chat: Chat, place: Item, operation: str) -> Put:
    body = {**chat_body(scope, chat, place.body), ENDED_BY: operation}
    return Put(keys.past_chat_key(scope, chat.agent, chat.id), body)


def _holding(chat_id: str, items: Iterable[Item]) -> Item | None:
    places = (item for item in items if item.key.sk.startswith(keys.ACTIVE_CHATS))
    return next((place for place in places if place.body.get("id") == chat_id), None)
