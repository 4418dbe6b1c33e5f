"""Memories as JSON Lines: what `export` writes and `import` reads, including files of the official server-memory."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from mcp_memory_server.domain.conversations.chat_lifecycle import Chat
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
from mcp_memory_server.schema.exported import session_lines
from mcp_memory_server.schema.exported.line_values import line_text, mapping, parsed_line
from mcp_memory_server.schema.records import (
    fact_body,
    fact_from,
    moment_from,
    note_from,
    preference_from,
    tombstone_from,
    topic_entry,
)
from mcp_memory_server.schema.snapshot_records import NAMES
from mcp_memory_server.schema.summary_records import summary_from, summary_put
from mcp_memory_server.schema.turn_records import TURNS

FORMAT = "mcp-memory-server"
FORMAT_VERSION = 2
"""Version 1 had no conversations, tool calls, states and snapshots, and did not name its user."""

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
    keys.ACCESS: "used",
}
_PREFIXES = {kind: prefix for prefix, kind in _KINDS.items()}
_FACTS = (keys.CURRENT_FACTS, keys.POSSIBLE_FACTS, keys.PAST_FACTS)
_CHATS = (keys.ACTIVE_CHATS, keys.PAST_CHATS)
_NOT_EXPORTED = {INDEX_PARTITION, INDEX_SORT, *embeddings.ALL_ATTRIBUTES}
"""Attributes that are not exported, because an import computes them again."""


@dataclass(frozen=True)
class MemoryEntry:
    """A memory, or a chat, that is added unless it exists."""

    scope: Scope
    put: Put


Entry = MemoryEntry | session_lines.Entry


def header_line(scope: Scope, now: datetime) -> str:
    """Return the first line of what is exported of a user: format, version, whose it is, and the time."""
    header = {"format": FORMAT, "version": FORMAT_VERSION, "user": scope.user_id, "exported_at": keys.timestamp(now)}
    return json.dumps(header, ensure_ascii=False)


def line_from(item: Item) -> str | None:
    """Return the item as a line; None for bookkeeping that means nothing in another table."""
    prefix = next((prefix for prefix in _KINDS if item.key.sk.startswith(prefix)), None)
    if prefix is None or (prefix == keys.ACTIVE_CHATS and chat_from(item) is None):
        return None
    return line_text(_KINDS[prefix], item.key.sk.removeprefix(prefix), _own(item), item.expires_at)


@dataclass(frozen=True)
class LinePlace:
    """Where the item of a line lies: its section, its session if it has one, and its sort key."""

    section: str
    sk: str
    session: str = ""


def place_of(line: str) -> LinePlace | None:
    """Return where the item of an exported line lies; None for a header, before which there is nothing."""
    entry = parsed_line(line)
    if "format" in entry:
        return None
    kind, key = str(entry["kind"]), str(entry["key"])
    if kind in _PREFIXES:
        return LinePlace("memories", _PREFIXES[kind] + key)
    if kind == session_lines.TURN:
        return LinePlace("sessions", TURNS + key, str(entry["session"]))
    if kind == session_lines.SESSION:
        return LinePlace("sessions", "", key)
    if kind == session_lines.TOOL_CALL:
        return LinePlace("tool_calls", key)
    if kind == session_lines.STATE:
        return LinePlace("states", keys.encoded(key))
    return LinePlace("snapshots", NAMES + keys.encoded(key))


def user_of(line: str) -> str | None:
    """Return the user that a line names if it is a header; None for any other line."""
    entry = parsed_line(line)
    user = entry.get("user") if "format" in entry else None
    return user if isinstance(user, str) else None


def entries_from(owner: Scope | None, lines: Iterable[str], now: datetime) -> Iterator[Entry]:
    """Yield what the lines hold, for this user; without one, for the users that the headers of an export name.

    Raises:
        InvalidRequestError: A line cannot be read. The message names its number.
    """
    reading = _Reading(owner, now)
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            yield from reading.entries(parsed_line(line))
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


class _Reading:
    """Lines one after another: a header says whose are those after it."""

    def __init__(self, owner: Scope | None, now: datetime) -> None:
        self._owner = owner
        self._now = now
        self._named: str | None = None

    def entries(self, line: Mapping[str, Any]) -> Iterator[Entry]:
        if "format" in line:
            self._read_header(line)
        elif line.get("type") == "entity":
            for observation in line.get("observations") or ():
                yield self._fact(f"{line['name']} ({line['entityType']}): {observation}")
        elif line.get("type") == "relation":
            relation = str(line["relationType"]).replace("_", " ")
            yield self._fact(f"{line['from']} {relation} {line['to']}")
        elif line.get("kind") in _PREFIXES:
            yield MemoryEntry(self._scope(), _exported(self._scope(), line))
        elif line.get("kind") in session_lines.KINDS:
            yield session_lines.entry_from(self._scope(), line, self._now)
        else:
            raise InvalidRequestError("this is neither a line of an export nor one of server-memory's")

    def _read_header(self, line: Mapping[str, Any]) -> None:
        _check_format(line)
        user, before = line.get("user"), self._named
        self._named = user if isinstance(user, str) else None
        if self._owner is not None and None not in (before, user) and before != user:
            raise InvalidRequestError("this is an export of several users; import it with --all")

    def _scope(self) -> Scope:
        if self._owner is not None:
            return self._owner
        if self._named is None:
            raise InvalidRequestError("no header before this line names a user; import it with --user NAME")
        return Scope(self._named)

    def _fact(self, text: str) -> MemoryEntry:
        return MemoryEntry(self._scope(), _imported_fact(self._scope(), text, self._now))


def _exported(scope: Scope, entry: Mapping[str, Any]) -> Put:
    expires_at = entry.get("expires_at")
    prefix = _PREFIXES[entry["kind"]]
    item = Item(
        Key(keys.partition_of(scope), prefix + entry["key"]),
        mapping(entry["memory"]),
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
    if prefix == keys.ACCESS:
        return keys.access_key(scope)
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
    if entry["format"] != FORMAT or entry.get("version") not in (1, FORMAT_VERSION):
        raise InvalidRequestError(f"this is a {entry['format']!r} file of version {entry.get('version')!r}, not ours")
