"""The data exports of Claude and ChatGPT: conversations, and what each had remembered itself."""

from collections.abc import Iterator, Mapping
from typing import Any

from mcp_memory_server.cli.importing.entries import Entry, facts, text_of, turns
from mcp_memory_server.cli.importing.sources import Source

CHATGPT_MEMORY = "bio"
"""The tool to which ChatGPT sends what it remembers."""


def is_claude(source: Source) -> bool:
    """Check whether it is a data export of Claude, whole or one of its files."""
    return any("chat_messages" in one for one in _conversations(source)) or any(_claude_memories(source))


def claude(source: Source) -> Iterator[Entry]:
    """Yield the memories that Claude kept, then the turns of each conversation."""
    for name, memories in _claude_memories(source):
        yield from _remembered(memories.get("conversations_memory"), name, "claude")
        projects: Mapping[str, Any] = memories.get("project_memories") or {}
        for project in projects.values():
            yield from _remembered(project, name, "claude")
    for conversation in _conversations(source):
        session = f"claude-{conversation.get('uuid')}"
        for number, message in enumerate(conversation.get("chat_messages") or ()):
            said = text_of(_without_thoughts(message.get("content"))) or message.get("text")
            where = f"conversation {conversation.get('name') or session!r}, message {number + 1}"
            source_id = str(message.get("uuid") or number)
            at, role = message.get("created_at"), message.get("sender")
            yield from turns(said, where, session=session, source_id=source_id, role=role, at=at)


def is_chatgpt(source: Source) -> bool:
    """Check whether it is a data export of ChatGPT, whole or its conversations."""
    return any("mapping" in one for one in _conversations(source))


def chatgpt(source: Source) -> Iterator[Entry]:
    """Yield the turns of each conversation, as it ended, and what ChatGPT noted about the user on the way."""
    for conversation in _conversations(source):
        session = f"chatgpt-{conversation.get('conversation_id') or conversation.get('id')}"
        where = f"conversation {conversation.get('title') or session!r}"
        for message in _thread(conversation):
            said, at = text_of(message.get("content")), message.get("create_time") or conversation.get("create_time")
            if message.get("recipient") == CHATGPT_MEMORY:
                for line in said.splitlines():
                    yield from facts(line, where, at=at)
            elif message.get("recipient") in (None, "all") and not _is_hidden(message):
                role = (message.get("author") or {}).get("role")
                yield from turns(said, where, session=session, source_id=str(message["id"]), role=role, at=at)


def _remembered(text: object, where: str, topic: str) -> Iterator[Entry]:
    """Yield the paragraphs and list entries of a memory that is one text."""
    if isinstance(text, str):
        for line in map(str.strip, text.splitlines()):
            is_heading = line.startswith("#") or (line.startswith("**") and line.endswith("**"))
            if not is_heading:
                yield from facts(line.lstrip("-*• "), where, topic=topic)


def _conversations(source: Source) -> Iterator[dict[str, Any]]:
    for _, document in source.documents("conversations"):
        found = document if isinstance(document, list) else [document]
        yield from (one for one in found if isinstance(one, dict))


def _claude_memories(source: Source) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, document in source.documents("memories"):
        for one in document if isinstance(document, list) else [document]:
            if isinstance(one, dict) and ("conversations_memory" in one or "project_memories" in one):
                yield name, one


def _without_thoughts(content: Any) -> Any:
    """Leave out what Claude thought, and the calls of tools with their results."""
    if not isinstance(content, list):
        return content
    return [part for part in content if not isinstance(part, dict) or part.get("type", "text") == "text"]


def _thread(conversation: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the messages from the root to the current one; answers that were regenerated are left out."""
    nodes: dict[str, Any] = conversation.get("mapping") or {}
    current: Any = conversation.get("current_node") or next(reversed(nodes), None)
    thread: list[dict[str, Any]] = []
    seen: set[str] = set()
    while current in nodes and current not in seen:
        seen.add(current)
        if (message := nodes[current].get("message")) is not None:
            thread.append(message)
        current = nodes[current].get("parent")
    return thread[::-1]


def _is_hidden(message: Mapping[str, Any]) -> bool:
    is_text = (message.get("content") or {}).get("content_type") in ("text", "multimodal_text")
    return bool((message.get("metadata") or {}).get("is_visually_hidden_from_conversation")) or not is_text
