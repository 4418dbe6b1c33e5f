"""What is in the items of chats.

The place of the active chat stays when the chat is over, with nothing in it but the id of that chat: so its version
never starts again, and who read an earlier chat there cannot write to a later one.
"""

from mcp_memory_server.domain.conversations.chats import Chat
from mcp_memory_server.domain.kernel.items import INDEX_PARTITION, INDEX_SORT, Item, Key, Value
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import is_ulid, moment_of
from mcp_memory_server.errors import TableDamagedError
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import Record, moment_or_none, optional_text

BEGUN_BY, ENDED_BY = "begun_by", "ended_by"
"""Which operation began or ended a chat, so that its repetition is recognised wherever the chat lies by then."""

AGENT_VERSION = "agent_version"

_INDEX_SORT = "CHAT"
_LAST = "last"


def chat_key(scope: Scope, chat: Chat) -> Key:
    """Return where a chat lies: the active one in the one place for it, a past one under its id."""
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
    """Return the body of the active chat's place while there is none: only what the next one must sort after."""
    return {_LAST: last.id}


def chat_from(item: Item) -> Chat | None:
    """Read a chat; None where the active chat's place is empty.

    Raises:
        TableDamagedError: The item does not hold one.
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


def last_chat_id(place: Item | None) -> str | None:
    """Return the id of the chat that is or was last in the active chat's place."""
    if place is None:
        return None
    last = optional_text(place.body, "id") or optional_text(place.body, _LAST)
    return last if last is not None and is_ulid(last) else None
