"""Encode chats as items and decode them.

When a chat ends, the item of the active chat stays with nothing in it but the id of that chat. Its version therefore
keeps rising, and a writer that has read an earlier chat there cannot overwrite a later one.
"""

from mcp_memory_server.domain.conversations.chat_lifecycle import Chat
from mcp_memory_server.domain.kernel.items import INDEX_PARTITION, INDEX_SORT, Item, Key, Value
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import is_ulid, moment_of
from mcp_memory_server.errors import TableDamagedError
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import Record, moment_or_none, optional_text

BEGUN_BY, ENDED_BY = "begun_by", "ended_by"
"""The ids of the operations that began and ended a chat, so that a retry is recognised wherever the chat is stored by
then.
"""

AGENT_VERSION = "agent_version"

_INDEX_SORT = "CHAT"
_LAST = "last"


def chat_key(scope: Scope, chat: Chat) -> Key:
    """Return the key of a chat: one fixed key for the active chat with an agent, a key by id for a past one."""
    if chat.deleted_at is None:
        return keys.active_chat_key(scope, chat.agent)
    return keys.past_chat_key(scope, chat.agent, chat.id)


def chat_body(scope: Scope, chat: Chat, over: Record | None = None) -> dict[str, Value]:
    """Return the body of a chat's item, written over what the item held."""
    optional = {
        AGENT_VERSION: chat.agent_version,
        "title": chat.title,
        "deleted_at": None if chat.deleted_at is None else keys.timestamp(chat.deleted_at),
    }
    return {
        **(over or {}),
        "id": chat.id,
        "created_at": keys.timestamp(chat.created_at),
        INDEX_PARTITION: keys.chat_index(scope, chat.id),
        INDEX_SORT: _INDEX_SORT,
        **{name: value for name, value in optional.items() if value is not None},
    }


def no_chat_body(last: Chat) -> dict[str, Value]:
    """Return the body of the active chat's item while there is none: only the id after which the next one must sort."""
    return {_LAST: last.id}


def chat_from(item: Item) -> Chat | None:
    """Decode a chat; None if there is no active chat.

    Raises:
        TableDamagedError: The item holds no valid chat.
    """
    body, is_active = item.body, item.key.sk.startswith(keys.ACTIVE_CHATS)
    if is_active and "id" not in body:
        return None
    agent, _, past_id = item.key.sk.removeprefix(keys.ACTIVE_CHATS if is_active else keys.PAST_CHATS).partition("#")
    chat_id = optional_text(body, "id") if is_active else past_id
    if chat_id is None or not is_ulid(chat_id):
        raise TableDamagedError("the item of a chat has no id, so it cannot be read")
    created_at = moment_or_none(body.get("created_at")) or moment_of(chat_id)
    return Chat(
        id=chat_id,
        agent=keys.decoded(agent),
        created_at=created_at,
        agent_version=optional_text(body, AGENT_VERSION),
        title=optional_text(body, "title"),
        deleted_at=None if is_active else moment_or_none(body.get("deleted_at")) or created_at,
    )


def last_chat_id(item: Item | None) -> str | None:
    """Return the id of the chat that is, or was last, in the active chat's item."""
    if item is None:
        return None
    last = optional_text(item.body, "id") or optional_text(item.body, _LAST)
    return last if last is not None and is_ulid(last) else None
