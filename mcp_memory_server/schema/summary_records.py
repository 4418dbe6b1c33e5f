"""Encode summaries as items and decode them. Their keys are in `schema.keys`."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import cast

from mcp_memory_server.domain.kernel.items import INDEX_PARTITION, INDEX_SORT, Item, Key, Put, Value
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.summaries.folds import fold_day
from mcp_memory_server.domain.summaries.summary import BUILT_IN, Level, Sentiment, Summary
from mcp_memory_server.errors import TableDamagedError
from mcp_memory_server.schema.keys import SUMMARIES, decoded, encoded, fold_index, summary_key, timestamp
from mcp_memory_server.schema.records import moment_or_none, optional_text

_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)


def summary_put(
    scope: Scope, summary: Summary, *, expected_version: int, over: Mapping[str, Value] | None = None
) -> Put:
    """Return the write of a summary, over what the item held."""
    key, day = summary_key(scope, summary.level, summary.id), fold_day(summary)
    listed: dict[str, Value] = {}
    if day is not None:
        listed = {INDEX_PARTITION: fold_index(day), INDEX_SORT: f"{encoded(scope.user_id)}#{key.sk}"}
    body: dict[str, Value] = {
        **(over or {}),
        "since": timestamp(summary.since),
        "until": timestamp(summary.until),
        "discussed": list(summary.discussed),
        "preferences": list(summary.preferences),
        "unresolved": list(summary.unresolved),
        "resolved": sorted(summary.resolved),
        "topics": [[topic, count] for topic, count in summary.topics.items()],
        "sentiment": summary.sentiment.value,
        "turn_count": summary.turn_count,
        "session_count": summary.session_count,
        "made_by": summary.made_by,
        **listed,
    }
    return Put(key, body, expected_version=expected_version, expires_at=summary.expires_at)


def summary_from(item: Item) -> Summary:
    """Decode a summary.

    Raises:
        TableDamagedError: The item holds no valid summary.
    """
    level, _, name = item.key.sk.removeprefix(SUMMARIES).partition("#")
    if level not in set(Level):
        raise TableDamagedError(f"a summary of an unknown level {level[:20]!r} cannot be read")
    body = item.body
    until = moment_or_none(body.get("until")) or _BEGINNING
    return Summary(
        Level(level),
        decoded(name),
        since=moment_or_none(body.get("since")) or until,
        until=until,
        discussed=_texts(body.get("discussed")),
        preferences=_texts(body.get("preferences")),
        unresolved=_texts(body.get("unresolved")),
        resolved=frozenset(_texts(body.get("resolved"))),
        topics=_topics(body.get("topics")),
        sentiment=Sentiment(body["sentiment"]) if body.get("sentiment") in set(Sentiment) else Sentiment.NEUTRAL,
        turn_count=_count(body.get("turn_count"), 0),
        session_count=_count(body.get("session_count"), 1),
        made_by=optional_text(body, "made_by") or BUILT_IN,
    )


def owner_of_summary(key: Key) -> Scope:
    """Return the user whose summary has this key."""
    return Scope(decoded(key.pk.removeprefix("USER#")))


def _texts(value: Value) -> tuple[str, ...]:
    entries = cast("list[object]", value) if isinstance(value, list) else []
    return tuple(one for one in entries if isinstance(one, str))


def _topics(value: Value) -> dict[str, int]:
    entries = cast("list[list[object]]", value) if isinstance(value, list) else []
    pairs = [entry for entry in entries if len(entry) == 2]
    return {topic: count for topic, count in pairs if isinstance(topic, str) and isinstance(count, int)}


def _count(value: Value, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
