"""Other memory servers: mem0, mcp-memory-service, claude-mem and the official server-memory."""

import json
from collections.abc import Iterator
from typing import Any

from mcp_memory_server.cli.importing.entries import Entry, facts, topic_of, turns
from mcp_memory_server.cli.importing.sources import Source


def is_server_memory(source: Source) -> bool:
    """Check whether it is the file of the official server-memory."""
    return bool(source.records) and source.records[0].get("type") in ("entity", "relation")


def server_memory(source: Source) -> Iterator[Entry]:
    """Yield each observation of an entity, and each relation, as a sentence."""
    for number, record in enumerate(source.records, start=1):
        where = f"line {number}"
        if record.get("type") == "relation":
            relation = str(record.get("relationType")).replace("_", " ")
            yield from facts(f"{record.get('from')} {relation} {record.get('to')}", where)
        else:
            for observation in record.get("observations") or ():
                yield from facts(f"{record.get('name')} ({record.get('entityType')}): {observation}", where)


def is_mem0(source: Source) -> bool:
    """Check whether it is what mem0 returns for all memories, or its platform exports."""
    return any(isinstance(one.get("memory"), str) for one in _mem0_memories(source)[:1])


def mem0(source: Source) -> Iterator[Entry]:
    """Yield each memory under its first category, with the time of its last change."""
    for number, one in enumerate(_mem0_memories(source), start=1):
        categories = one.get("categories") or (one.get("metadata") or {}).get("category") or ()
        category = categories if isinstance(categories, str) else next(iter(categories), None)
        at = one.get("updated_at") or one.get("created_at")
        yield from facts(one.get("memory"), f"memory {one.get('id') or number}", topic=topic_of(category), at=at)


def is_memory_service(source: Source) -> bool:
    """Check whether it is a database or an export of mcp-memory-service."""
    if source.is_database:
        return {"content_hash", "content", "tags"} <= source.columns.get("memories", set())
    return any("content_hash" in one for one in _listed(source, "memories")[:1])


def memory_service(source: Source) -> Iterator[Entry]:
    """Yield each memory that was not deleted, under its kind and first tag."""
    if source.is_database:
        deleted = "WHERE deleted_at IS NULL" if "deleted_at" in source.columns["memories"] else ""
        memories = list(source.rows(f"SELECT * FROM memories {deleted} ORDER BY created_at"))  # noqa: S608 - a constant
    else:
        memories = _listed(source, "memories")
    for one in memories:
        tags = one.get("tags") or ()
        first = next(iter(tags.split(",") if isinstance(tags, str) else tags), None)
        at = one.get("created_at_iso") or one.get("created_at")
        where = f"memory {str(one.get('content_hash'))[:12]}"
        yield from facts(one.get("content"), where, topic=topic_of(one.get("memory_type"), first), at=at)


def is_claude_mem(source: Source) -> bool:
    """Check whether it is the database or an export of claude-mem."""
    if source.is_database:
        return {"observations", "session_summaries"} <= source.columns.keys()
    found = source.document
    return isinstance(found, dict) and {"observations", "prompts"} <= found.keys()


def claude_mem(source: Source) -> Iterator[Entry]:
    """Yield what was observed, learned and left to do, below the project, and the prompts as turns."""
    for one in _claude_mem_rows(source, "observations"):
        stated = _facts_of(one) or [one.get("narrative") or one.get("text") or one.get("title")]
        topic = topic_of(one.get("project"), one.get("type"))
        for text in filter(None, stated):
            yield from facts(text, f"observation {one.get('id')}", topic=topic, at=one.get("created_at_epoch"))
    for one in _claude_mem_rows(source, "session_summaries"):
        for name in ("learned", "completed", "next_steps"):
            if one.get(name):
                topic = topic_of(one.get("project"), name)
                yield from facts(one[name], f"summary {one.get('id')}", topic=topic, at=one.get("created_at_epoch"))
    for one in _claude_mem_rows(source, "user_prompts"):
        session = f"claude-mem-{one.get('content_session_id') or one.get('claude_session_id')}"
        where, at = f"prompt {one.get('id')}", one.get("created_at_epoch")
        source_id = str(one.get("prompt_number") or one.get("id"))
        yield from turns(one.get("prompt_text"), where, session=session, source_id=source_id, role="user", at=at)


def _facts_of(observation: dict[str, Any]) -> list[str]:
    """Return the facts of an observation, which are stored as a JSON list in a text."""
    stored = observation.get("facts")
    try:
        found = json.loads(stored) if isinstance(stored, str) else stored
    except ValueError:
        return []
    return [fact for fact in found if isinstance(fact, str)] if isinstance(found, list) else []


def _claude_mem_rows(source: Source, table: str) -> list[dict[str, Any]]:
    if source.is_database:
        if table not in source.columns:
            return []
        return list(source.rows(f"SELECT * FROM {table} ORDER BY created_at_epoch"))  # noqa: S608 - one of three names
    names = {"session_summaries": "summaries", "user_prompts": "prompts"}
    return _listed(source, names.get(table, table))


def _mem0_memories(source: Source) -> list[dict[str, Any]]:
    return _listed(source, "results") or _listed(source, "memories") or _listed(source, None)


def _listed(source: Source, name: str | None) -> list[dict[str, Any]]:
    """Return the objects of a list: the document itself, or one of its members."""
    found = source.document
    if name is not None:
        found = found.get(name) if isinstance(found, dict) else None
    return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
