"""Memories as JSON Lines: what `export` writes and `import` reads, including files of the official server-memory."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from mcp_memory_server.domain.conversations.chats import Chat
from mcp_memory_server.domain.facts.fact import Source, Standing, Statement, fact_id
from mcp_memory_server.domain.facts.learning import learn
from mcp_memory_server.domain.kernel.credentials import without_credentials
from mcp_memory_server.domain.kernel.item_checks import checked_body
from mcp_memory_server.domain.kernel.items import INDEX_PARTITION, INDEX_SORT, Item, Key, Put, Value
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.recall.memories import from_fact, from_note, from_preference, from_summary
from mcp_memory_server.errors import InvalidRequestError, MemoryServerError
from mcp_memory_server.schema import embeddings, keys
from mcp_memory_server.schema.chat_records import chat_body, chat_from, chat_key
from mcp_memory_server.schema.records import (
    fact_body,
    fact_from,
    moment_from,
    note_from,
    preference_from,
    tombstone_from,
    topic_entry,
)
from mcp_memory_server.schema.summary_records import summary_from, summary_put

FORMAT = "mcp-memory-server"
FORMAT_VERSION = 1

_KINDS = {
    keys.CURRENT_FACTS: "fact",
    keys.POSSIBLE_FACTS: "candidate",
    keys.PAST_FACTS: "past",
    keys.FORGOTTEN: "forgotten",
    keys.PREFERENCES: "preference",
    keys.NOTES: "note",
    keys.SUMMARIES: "summary",
    keys.ACTIVE_CHATS: "active_chat",
    keys.PAST_CHATS: "past_chat",
}
_PREFIXES = {kind: prefix for prefix, kind in _KINDS.items()}
_FACTS = (keys.CURRENT_FACTS, keys.POSSIBLE_FACTS, keys.PAST_FACTS)
_CHATS = (keys.ACTIVE_CHATS, keys.PAST_CHATS)
_NOT_EXPORTED = {INDEX_PARTITION, INDEX_SORT, *embeddings.ATTRIBUTES}
"""Attributes that are not exported, because an import computes them again."""


def header_line(now: datetime) -> str:
    """Return the first line of an export: its format, version and time."""
    return json.dumps({"format": FORMAT, "version": FORMAT_VERSION, "exported_at": keys.timestamp(now)})


def line_from(item: Item) -> str | None:
    """Return the item as a line; None for bookkeeping that means nothing in another table."""
    prefix = next((prefix for prefix in _KINDS if item.key.sk.startswith(prefix)), None)
    if prefix is None or (prefix == keys.ACTIVE_CHATS and chat_from(item) is None):
        return None
    line: dict[str, Any] = {"kind": _KINDS[prefix], "key": item.key.sk.removeprefix(prefix), "memory": _own(item)}
    if item.expires_at is not None:
        line["expires_at"] = keys.timestamp(item.expires_at)
    return json.dumps(line, ensure_ascii=False, default=_bytes_to_json)


def puts_from(scope: Scope, lines: Iterable[str], now: datetime) -> Iterator[Put]:
    """Yield the lines as writes for this user, each of which succeeds only if the item does not exist yet.

    Raises:
        InvalidRequestError: A line cannot be read. The message names its number.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line, object_hook=_bytes_from_json)
            yield from _puts(scope, _mapping(entry), now)
        except json.JSONDecodeError as error:
            raise InvalidRequestError(f"line {number} is not JSON: {error.msg} at column {error.colno}") from None
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, RecursionError) as error:
            raise InvalidRequestError(f"line {number} cannot be read: {type(error).__name__} {error}") from None
        except MemoryServerError as error:
            raise InvalidRequestError(f"line {number}: {error}") from None


def statement_fingerprint(put: Put) -> str | None:
    """Return the fingerprint of the fact that a put would store; None if it stores no fact."""
    if not put.key.sk.startswith(_FACTS):
        return None
    return fact_from(Item(put.key, put.body, 1)).fingerprint


def _puts(scope: Scope, entry: Mapping[str, Any], now: datetime) -> Iterator[Put]:
    if "format" in entry:
        _check_format(entry)
    elif entry.get("type") == "entity":
        for observation in entry.get("observations") or ():
            yield _imported_fact(scope, f"{entry['name']} ({entry['entityType']}): {observation}", now)
    elif entry.get("type") == "relation":
        relation = str(entry["relationType"]).replace("_", " ")
        yield _imported_fact(scope, f"{entry['from']} {relation} {entry['to']}", now)
    elif entry.get("kind") in _PREFIXES:
        yield _exported(scope, entry)
    else:
        raise InvalidRequestError("this is neither a line of an export nor one of server-memory's")


def _exported(scope: Scope, entry: Mapping[str, Any]) -> Put:
    expires_at = entry.get("expires_at")
    prefix = _PREFIXES[entry["kind"]]
    item = Item(
        Key(keys.user_partition(scope.user_id), prefix + entry["key"]),
        _mapping(entry["memory"]),
        version=1,
        expires_at=None if expires_at is None else moment_from(expires_at),
    )
    # Key and id are derived from the content: a line must not choose its own key or index entry.
    key, body = _key(scope, item, prefix), _own(item)
    if prefix in _CHATS:
        body = chat_body(scope, _chat(item), body)
    if prefix == keys.SUMMARIES:
        return summary_put(scope, summary_from(item), expected_version=0, over=body)
    if prefix in _FACTS:
        fact = fact_from(item)
        derived = {"id": fact_id(fact.text)} if "id" in body else {}
        body = {**body, **derived, **topic_entry(scope, fact)}
    return Put(key, checked_body(key, body), expected_version=0, expires_at=item.expires_at)


def _key(scope: Scope, item: Item, prefix: str) -> Key:
    if prefix == keys.FORGOTTEN:
        return keys.tombstone_key(scope, keys.encoded(tombstone_from(item).fingerprint))
    if prefix == keys.PREFERENCES:
        return keys.memory_key(scope, from_preference(preference_from(item)))
    if prefix == keys.NOTES:
        return keys.memory_key(scope, from_note(note_from(item)))
    if prefix == keys.SUMMARIES:
        return keys.memory_key(scope, from_summary(summary_from(item)))
    if prefix in _CHATS:
        return chat_key(scope, _chat(item))
    fact = fact_from(item)
    if prefix == keys.PAST_FACTS and fact.valid_to is None:
        raise InvalidRequestError("a past memory must say until when it held, in 'valid_to'")
    if keys.is_legacy_fact(item.key.sk) and fact.topic is not None and fact.standing is not Standing.CANDIDATE:
        # An export of an earlier release keeps its key, so that importing it where it came from adds nothing.
        place = keys.legacy_fact_key(scope, fact.topic)
        return place if fact.valid_to is None else keys.past_fact_key(place, fact.valid_to)
    return keys.memory_key(scope, from_fact(replace(fact, id=fact_id(fact.text))))


def _own(item: Item) -> dict[str, Value]:
    return {name: value for name, value in item.body.items() if name not in _NOT_EXPORTED}


def _chat(item: Item) -> Chat:
    if (chat := chat_from(item)) is None:
        raise InvalidRequestError("a chat must have an 'id'")
    return chat


def _imported_fact(scope: Scope, text: str, now: datetime) -> Put:
    text, _ = without_credentials(text)  # one line with a secret must not block the import of the others
    fact = learn(Statement(text, source=Source.IMPORTED), now).fact
    return Put(keys.fact_key(scope, fact.fingerprint), fact_body(fact), expected_version=0)


def _check_format(entry: Mapping[str, Any]) -> None:
    if entry["format"] != FORMAT or entry.get("version") != FORMAT_VERSION:
        raise InvalidRequestError(f"this is a {entry['format']!r} file of version {entry.get('version')!r}, not ours")


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InvalidRequestError("an object in braces was expected")
    return cast("dict[str, Any]", value)


def _bytes_to_json(value: object) -> dict[str, str]:
    if not isinstance(value, bytes):
        raise TypeError(f"{type(value).__name__} cannot be exported")
    return {"$base64": base64.b64encode(value).decode()}


def _bytes_from_json(entry: dict[str, Any]) -> Any:
    return base64.b64decode(entry["$base64"]) if entry.keys() == {"$base64"} else entry
