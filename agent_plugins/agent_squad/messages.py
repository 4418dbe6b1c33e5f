"""A message of Agent Squad as a turn of a conversation, and back, whatever it is made of."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from agent_squad.types import ConversationMessage, ParticipantRole

from mcp_memory_server import NewTurn, Role, Turn

LARGEST_DETAIL_BYTES = 60 * 1024
"""What is larger is kept as the content of the turn itself, which may be much larger."""
_BYTES = "__bytes__"
_NO_TEXT = "[no text]"


@dataclass(frozen=True)
class Said:
    """Who said what. Blocks are as the provider of the model has them."""

    role: str
    blocks: tuple[Any, ...]

    def to_message(self) -> ConversationMessage:
        """Return it as Agent Squad has it."""
        return ConversationMessage(role=cast("ParticipantRole", self.role), content=list(self.blocks))

    def text(self) -> str:
        """Return what is text in it."""
        return "\n".join(text for block in self.blocks if (text := text_of(block)))


def said_in(message: ConversationMessage) -> Said:
    """Return what a message says."""
    role = message.role.value if isinstance(message.role, Enum) else str(message.role)
    content: Any = message.content
    if content is None:
        return Said(role, ())
    return Said(role, ({"text": content},) if isinstance(content, str) else tuple(content))


def turn_from(said: Said, agent: str) -> NewTurn | None:
    """Return the turn, None for a message without any content."""
    if not said.blocks:
        return None
    blocks = [_plain(block) for block in said.blocks]
    text = Said(said.role, tuple(blocks)).text()
    if blocks == [{"text": text}] and text:
        return NewTurn(_role(said), text, agent=agent, speaker=_speaker(said, agent))
    details = json.dumps(blocks, ensure_ascii=False)
    if len(details.encode(errors="replace")) <= LARGEST_DETAIL_BYTES:
        content, context = text or _NO_TEXT, {"blocks": blocks}
    else:
        content, context = details, {"blocks": "content"}
    return NewTurn(_role(said), content, agent=agent, speaker=_speaker(said, agent), page_context=context)


def said_by(turn: Turn) -> Said:
    """Return what a turn says, as it was said."""
    role = ParticipantRole.ASSISTANT if turn.role is Role.ASSISTANT else ParticipantRole.USER
    kept = (turn.page_context or {}).get("blocks")
    if kept is None:
        return Said(role.value, ({"text": turn.content},))
    blocks = json.loads(turn.content) if kept == "content" else kept
    return Said(role.value, tuple(_restored(block) for block in blocks))


def text_of(block: Any) -> str:
    """Return the text of a block: what was said, or what a tool answered."""
    if not isinstance(block, Mapping):
        return block if isinstance(block, str) else ""
    if isinstance(text := block.get("text"), str):
        return text
    answer = block.get("toolResult") or (block if block.get("type") == "tool_result" else None)
    if not isinstance(answer, Mapping):
        return ""
    content = answer.get("content", ())
    return content if isinstance(content, str) else "\n".join(filter(None, map(text_of, content)))


def called(block: Any) -> str | None:
    """Return the id of the call that a block makes, of Bedrock or of Anthropic; None if it makes none."""
    return _id(block, "toolUse", "tool_use", "id")


def answered(block: Any) -> str | None:
    """Return the id of the call that a block answers, None if it answers none."""
    return _id(block, "toolResult", "tool_result", "tool_use_id")


def _id(block: Any, bedrock: str, anthropic: str, name: str) -> str | None:
    if not isinstance(block, Mapping):
        return None
    if isinstance(inner := block.get(bedrock), Mapping):
        return str(inner.get("toolUseId"))
    return str(block.get(name)) if block.get("type") == anthropic else None


def _role(said: Said) -> Role:
    if said.role == ParticipantRole.ASSISTANT.value:
        return Role.ASSISTANT
    return Role.TOOL if any(answered(block) for block in said.blocks) else Role.USER


def _speaker(said: Said, agent: str) -> str | None:
    return agent if said.role == ParticipantRole.ASSISTANT.value else None


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return {_BYTES: base64.b64encode(value).decode()}
        case Mapping():
            return {str(name): _plain(inner) for name, inner in value.items()}
        case str():
            return value.encode(errors="replace").decode()  # no engine can store half of a surrogate pair
        case int() | float() | bool() | None:
            return value
        case Sequence():
            return [_plain(inner) for inner in value]
        case _:
            return str(value)


def _restored(value: Any) -> Any:
    match value:
        case {"__bytes__": str(data)}:
            return base64.b64decode(data)
        case Mapping():
            return {name: _restored(inner) for name, inner in value.items()}
        case list() | tuple():
            return [_restored(inner) for inner in value]
        case _:
            return value
