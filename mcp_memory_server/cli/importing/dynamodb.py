"""Tables of DynamoDB: the layouts of other memory programs, read from the table itself or from an export of it."""

import base64
import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from mcp_memory_server.addresses import DynamoDbTable, parse_table
from mcp_memory_server.cli.importing.entries import Entry, Refused, facts, moment_from, text_of, topic_of, turns
from mcp_memory_server.cli.importing.sources import Source
from mcp_memory_server.errors import ConfigurationError, InvalidRequestError, UnavailableError

SCHEME = "dynamodb://"

_OWNERS = ("user_id", "userid", "owner", "actor_id", "actorid")
_SESSIONS = ("session_id", "sessionid", "conversation_id", "conversationid", "chat_id", "chatid")
_TEXTS = ("memory", "fact", "fact_text", "content", "text", "summary", "insight")
_MESSAGES = ("conversation", "messages", "history", "turns", "chat_history")
_SPOKEN = ("content", "text", "message", "turn_text")
_ROLES = ("role", "sender", "speaker", "author")
_TIMES = ("said_at", "timestamp", "created_at", "createdat", "learned_at", "updated_at", "updatedat", "date", "time")
_IDS = ("turn_id", "message_id", "id", "uuid", "memory_id")
_TOPICS = ("topic", "category", "fact_type", "type", "memory_type")
_USER = re.compile(r"^(?:USER|user|ACTOR|actor)[#/:]")
_SESSION = re.compile(r"^(?:SESSION|SESS|session|sess|CONV|CHAT)[#/:]")
_TURN = re.compile(r"^(?:TURN|MSG|MESSAGE)#(.*)$")

Row = Mapping[str, Any]


def is_dynamodb(source: Source) -> bool:
    """Check whether it is the address of a table, or items in the JSON of DynamoDB."""
    if source.name.startswith(SCHEME):
        return True
    if source.is_folder or source.is_archive or source.is_database:
        return False
    return next(iter(_exported_items(source)), None) is not None


def dynamodb(source: Source, owner: str | None) -> Iterator[Entry]:
    """Yield the memories and turns of one user.

    Raises:
        InvalidRequestError: The table holds several users, and none of them is named.
    """
    items = _scanned(source.name) if source.name.startswith(SCHEME) else _exported_items(source)
    rows = [{name.lower(): value for name, value in item.items()} for item in items]
    owners = {session: user for row in rows if (session := _session_of(row)) and (user := _own_user(row))}
    by_row = [_own_user(row) or owners.get(_session_of(row) or "") for row in rows]
    known = sorted({user for user in by_row if user})
    if owner is None and len(known) > 1:
        some = ", ".join(repr(user) for user in known[:5]) + (", …" if len(known) > 5 else "")
        raise InvalidRequestError(f"{source.name!r} holds {len(known):,} users ({some}); name the one with --owner")
    if owner is not None and owner not in known:
        raise InvalidRequestError(f"{source.name!r} holds nothing of {owner!r}")
    wanted = owner or next(iter(known), None)
    for row, user in zip(rows, by_row, strict=True):
        if user in (None, wanted):
            yield from _entries(row)


def _entries(row: Row) -> Iterator[Entry]:
    where = f"item {_partition(row)} / {_sort(row)}"
    if "pk" in row and "sk" in row and ("data" in row or row.get("s3")):
        yield from _strands(row, where)
    elif (messages := _first(row, _MESSAGES)) is not None and isinstance(messages, list | str):
        yield from _conversation(row, messages, where)
    elif _is_turn(row):
        yield from _turn(row, where)
    elif "value" in row and (key := row.get("key") or row.get("preference_key") or row.get("name")):
        yield from facts(f"{key}: {text_of(row['value'])}", where, topic=topic_of("preferences", key), at=_time(row))
    elif isinstance(text := _first(row, _TEXTS), str):
        yield from facts(text, where, topic=topic_of(_first(row, _TOPICS)), at=_time(row))
    else:
        yield from _profile(row, where)


def _profile(row: Row, where: str) -> Iterator[Entry]:
    """Yield the preferences that a profile holds as a map; counters and other bookkeeping are no memories."""
    for name in ("preferences", "attributes", "profile"):
        held = row.get(name)
        for key, value in held.items() if isinstance(held, dict) else ():
            if isinstance(value, str | int | Decimal | bool) and str(value).strip():
                yield from facts(f"{key}: {value}", where, topic=topic_of(name, key), at=_time(row))
    for name in ("facts", "memories", "notes"):
        for text in row[name] if isinstance(row.get(name), list) else ():
            yield from facts(text_of(text), where, topic=topic_of(_first(row, _TOPICS)), at=_time(row))


def _conversation(row: Row, messages: list[Any] | str, where: str) -> Iterator[Entry]:
    """Yield the messages of an item that holds a whole conversation, as Agent Squad and chat tables store them."""
    found = json.loads(messages) if isinstance(messages, str) and messages.startswith("[") else messages
    sort = _sort(row)
    session, agent = _first(row, _SESSIONS) or sort, _first(row, ("agent_id", "agent"))
    if agent is None and "#" in sort and "#ACTIVE#" not in sort:
        agent = sort.rpartition("#")[2]  # Agent Squad: <session>#<agent>
    for number, message in enumerate(found if isinstance(found, list) else ()):
        if isinstance(message, dict):
            low = {name.lower(): value for name, value in message.items()}
            at = _time(low) or _time(row)
            source_id = f"{sort}-{_first(low, _IDS) or number}"
            said, role = text_of(_first(low, _SPOKEN)), _first(low, _ROLES)
            name = None if agent is None else str(agent)
            yield from turns(said, where, session=str(session), source_id=source_id, role=role, at=at, agent=name)


def _is_turn(row: Row) -> bool:
    return _first(row, _ROLES) is not None and _first(row, _SPOKEN) is not None


def _turn(row: Row, where: str) -> Iterator[Entry]:
    sort = _sort(row)
    at = _time(row) or moment_from(turn[1].partition("#")[0] if (turn := _TURN.match(sort)) else None)
    source_id = str(_first(row, _IDS) or sort)
    session = _session_of(row) or _partition(row)
    said, role = text_of(_first(row, _SPOKEN)), _first(row, _ROLES)
    yield from turns(said, where, session=session, source_id=source_id, role=role, at=at)


def _strands(row: Row, where: str) -> Iterator[Entry]:
    """Yield a memory or a session of strands-dynamodb-storage."""
    key = str(row.get("k") or f"{row['pk']}/{row['sk']}")
    if row.get("s3"):
        yield Refused(where, "its value is in S3, which is not read")
        return
    data = row["data"] if isinstance(row["data"], bytes) else str(row["data"]).encode()
    text = (gzip.decompress(data) if row.get("z") else data).decode("utf-8", errors="replace")
    if "/memory/" in f"/{key}":
        meta: Mapping[str, Any] = row.get("meta") or {}
        at = next((meta[name] for name in _TIMES if name in meta), None)
        yield from facts(text, where, topic=topic_of(meta.get("topic") or meta.get("category")), at=at)
        return
    for number, message in enumerate(_messages_in(_json(text))):
        session = key.split("/")[1] if "/" in key else key
        source_id = f"{key}-{message.get('message_id', number)}"
        inner = message["message"] if isinstance(message.get("message"), dict) else message
        at = message.get("created_at") or inner.get("created_at")
        said, role = text_of(inner.get("content")), inner.get("role")
        yield from turns(said, where, session=session, source_id=source_id, role=role, at=at)


def _messages_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the messages of a snapshot, wherever it holds them."""
    if isinstance(value, dict):
        if isinstance(value.get("message"), dict) or ("role" in value and "content" in value):
            yield value
            return
        for part in value.values():
            yield from _messages_in(part)
    elif isinstance(value, list):
        for part in value:
            yield from _messages_in(part)


def _own_user(row: Row) -> str | None:
    """Return whose item it is: an attribute says so, or its partition does."""
    if (named := _first(row, _OWNERS)) is not None:
        return _USER.sub("", str(named)).partition("#")[0]
    partition = _partition(row)
    if _SESSION.match(partition) or not partition:
        return None
    return re.split(r"[#/]", _USER.sub("", partition))[0]


def _session_of(row: Row) -> str | None:
    if (named := _first(row, _SESSIONS)) is not None:
        return str(named)
    partition = _partition(row)
    return _SESSION.sub("", partition) if _SESSION.match(partition) else None


def _partition(row: Row) -> str:
    return str(_first(row, ("pk", *_OWNERS, *_SESSIONS)) or "")


def _sort(row: Row) -> str:
    return str(_first(row, ("sk", *_IDS, *_TIMES)) or "")


def _time(row: Row) -> Any:
    return _first(row, _TIMES)


def _first(row: Row, names: Iterable[str]) -> Any:
    return next((row[name] for name in names if row.get(name) not in (None, "")), None)


def _scanned(address: str) -> Iterator[dict[str, Any]]:
    """Yield all items of the table, which is only read."""
    try:
        import boto3
        from botocore.exceptions import BotoCoreError, ClientError
    except ImportError:
        raise ConfigurationError(
            "reading a table needs the extra 'dynamodb': pip install 'mcp-agent-memory[dynamodb]'"
        ) from None
    table = parse_table(address)
    if not isinstance(table, DynamoDbTable):
        raise ConfigurationError(f"{address!r} is no table; it looks like dynamodb://name?region=eu-west-1")
    client = boto3.client("dynamodb", region_name=table.region, endpoint_url=table.endpoint)  # pyright: ignore[reportUnknownMemberType]
    try:
        for page in client.get_paginator("scan").paginate(TableName=table.name):
            yield from map(_plain, page["Items"])
    except (BotoCoreError, ClientError) as error:
        raise UnavailableError(f"the table {table.name!r} cannot be read: {error}") from error


def _exported_items(source: Source) -> Iterator[dict[str, Any]]:
    """Yield the items of a scan that was written to a file, or of an export to S3."""
    document = source.document
    items: Any = document.get("Items") if isinstance(document, dict) else None
    found = items if isinstance(items, list) else [record.get("Item") for record in source.records]
    yield from (_plain(item) for item in found if isinstance(item, dict))


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in item.items()}


def _value(value: Any) -> Any:
    """Return the value of an attribute, which DynamoDB writes with its type."""
    if not isinstance(value, dict) or len(value) != 1:
        return value
    ((kind, held),) = value.items()
    match kind:
        case "M":
            return _plain(held)
        case "L":
            return [_value(one) for one in held]
        case "N":
            return Decimal(held)
        case "NULL":
            return None
        case "B":
            return held if isinstance(held, bytes) else base64.b64decode(held)
        case "S" | "BOOL" | "SS" | "NS" | "BS":
            return held
        case _:
            return value


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
