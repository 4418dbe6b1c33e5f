"""Conversion of a Strands message to a turn: its text, calls of tools, and their answers."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from strands.types.content import ContentBlock, Message

from mcp_memory_server import NewTurn, Role

MOST_INPUT = 12_000
"""In characters of all tool inputs of a turn; longer ones are cut."""
MOST_CONTENT_BYTES = 4 * 1024 * 1024
LONGEST_NAME = 100

_EMPTY_KEY = '"":'
"""Which no table stores: an input that may have one is kept as text."""
_MEDIA = ("image", "document", "video", "audio")


def turn_from(
    message: Message,
    agent: str,
    *,
    tracking_id: str | None = None,
    speaks_as: str | None = None,
    without_answers: Collection[str] = (),
) -> NewTurn | None:
    """Return the turn, None for a message without content: reasoning alone is not saved.

    ``without_answers`` are the ids of calls of tools whose answers are left out.
    """
    blocks = [block for block in message["content"] if _answered_call(block) not in without_answers]
    said = _cut("\n".join(text for block in blocks if (text := _text(block))))
    uses = [block["toolUse"] for block in blocks if "toolUse" in block]
    calls = tuple(_call(use, MOST_INPUT // len(uses)) for use in uses)
    if not said and not calls:
        return None
    return NewTurn(
        _role(message),
        said,
        agent=_cut_name(agent),
        speaker=None if speaks_as is None else _cut_name(speaks_as),
        tool_calls=calls,
        source_id=tracking_id,
    )


def result_text(result: Mapping[str, Any]) -> str:
    """Return the answer of a tool as text."""
    return "\n".join(text for block in result.get("content", ()) if (text := _answer(block)))


def text_of(messages: Sequence[Message], longest: int) -> str:
    """Return the end of what the messages say, answers of tools included."""
    said: list[str] = []
    for message in reversed(messages):
        if longest <= 0:
            break
        text = "\n".join(filter(None, map(_text, message["content"])))[-longest:]
        longest -= len(text) + 1
        said.append(text)
    return "\n".join(reversed(said))


def _answered_call(block: ContentBlock) -> str | None:
    return block["toolResult"]["toolUseId"] if "toolResult" in block else None


def _role(message: Message) -> Role:
    if message["role"] == "assistant":
        return Role.ASSISTANT
    return Role.TOOL if any("toolResult" in block for block in message["content"]) else Role.USER


def _text(block: ContentBlock) -> str:
    if "text" in block:
        return block["text"]
    if "toolResult" in block:
        failed = "failed: " if block["toolResult"].get("status") == "error" else ""
        return failed + result_text(block["toolResult"])
    return next((f"[{kind}]" for kind in _MEDIA if kind in block), "")


def _answer(block: Mapping[str, Any]) -> str:
    if "text" in block:
        return str(block["text"])
    if "json" in block:
        return json.dumps(block["json"], ensure_ascii=False, default=str)
    return next((f"[{kind}]" for kind in _MEDIA if kind in block), "")


def _call(use: Mapping[str, Any], longest: int) -> Mapping[str, Any]:
    text = _storable(json.dumps(use.get("input"), ensure_ascii=False, default=str))
    is_cut = len(text) > longest
    kept: Any = text[:longest] + "…" if is_cut else text if _EMPTY_KEY in text else json.loads(text)
    return {
        "id": _storable(str(use.get("toolUseId")))[:200],
        "name": _storable(str(use.get("name")))[:200],
        "input": kept,
    }


def _storable(text: str) -> str:
    """Return the text without unpaired surrogates, which no engine can store."""
    return text.encode(errors="replace").decode()


def _cut(text: str) -> str:
    data = text.encode(errors="replace")
    return data[:MOST_CONTENT_BYTES].decode(errors="ignore")


def _cut_name(name: str) -> str:
    return name.encode(errors="replace")[:LONGEST_NAME].decode(errors="ignore").strip() or "agent"
