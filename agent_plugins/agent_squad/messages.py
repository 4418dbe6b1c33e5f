"""Conversion of an Agent Squad message, of any provider, to a turn and back."""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, cast

from agent_squad.types import ConversationMessage, ParticipantRole

from mcp_memory_server import NewTurn, Role, Turn

LARGEST_DETAIL_BYTES = 60 * 1024
"""Larger blocks are stored as the content of the turn, which may be much larger."""
_BYTES = "__bytes__"
_NO_TEXT = "[no text]"
_ASKED = "asked_of"
"""In the page context of a turn: the agent that another agent asked this."""


@dataclass(frozen=True)
class ChatMessage:
    """A message: its role, and its blocks in the format of the model provider."""

    role: str
    blocks: tuple[Any, ...]

    def to_message(self) -> ConversationMessage:
        """Return the message as a type of Agent Squad."""
        return ConversationMessage(role=cast("ParticipantRole", self.role), content=list(self.blocks))

    def text(self) -> str:
        """Return the text of the message."""
        return "\n".join(text for block in self.blocks if (text := text_of(block)))


def from_squad_message(message: ConversationMessage) -> ChatMessage:
    """Return the message from the type of Agent Squad."""
    role = message.role.value if isinstance(message.role, Enum) else str(message.role)
    content: Any = message.content
    if content is None:
        return ChatMessage(role, ())
    return ChatMessage(role, ({"text": content},) if isinstance(content, str) else tuple(content))


def to_turn(said: ChatMessage, agent: str, *, asked_by: str | None = None) -> NewTurn | None:
    """Return the turn, None for a message without any content.

    What another agent asked (``asked_by``) is a turn of that agent. It has the role of the user only in the history of
    the agent that was asked.
    """
    if not said.blocks:
        return None
    if asked_by is not None and said.role != ParticipantRole.ASSISTANT.value:
        return _asked(said, agent, asked_by)
    blocks = [_plain(block) for block in said.blocks]
    text = ChatMessage(said.role, tuple(blocks)).text()
    if blocks == [{"text": text}] and text:
        return NewTurn(_role(said), text, agent=agent, speaker=_speaker(said, agent))
    details = json.dumps(blocks, ensure_ascii=False)
    if len(details.encode(errors="replace")) <= LARGEST_DETAIL_BYTES:
        content, context = text or _NO_TEXT, {"blocks": blocks}
    else:
        content, context = details, {"blocks": "content"}
    return NewTurn(_role(said), content, agent=agent, speaker=_speaker(said, agent), page_context=context)


def _asked(said: ChatMessage, agent: str, asked_by: str) -> NewTurn:
    return NewTurn(Role.ASSISTANT, said.text() or _NO_TEXT, agent=agent, speaker=asked_by, page_context={_ASKED: agent})


def was_asked(turn: Turn) -> bool:
    """Return whether the turn is what one agent asked another."""
    return _ASKED in (turn.page_context or {})


def from_turn(turn: Turn) -> ChatMessage:
    """Return the message that was saved as this turn."""
    is_said_by_agent = turn.role is Role.ASSISTANT and not was_asked(turn)
    role = ParticipantRole.ASSISTANT if is_said_by_agent else ParticipantRole.USER
    kept = (turn.page_context or {}).get("blocks")
    if kept is None:
        return ChatMessage(role.value, ({"text": turn.content},))
    blocks = json.loads(turn.content) if kept == "content" else kept
    return ChatMessage(role.value, tuple(_restored(block) for block in blocks))


def text_of(block: Any) -> str:
    """Return the text of a block: of a message, or of the answer of a tool."""
    if not isinstance(block, Mapping):
        return block if isinstance(block, str) else ""
    if isinstance(text := block.get("text"), str):
        return text
    answer = block.get("toolResult") or (block if block.get("type") == "tool_result" else None)
    if not isinstance(answer, Mapping):
        return ""
    content = answer.get("content", ())
    return content if isinstance(content, str) else "\n".join(filter(None, map(text_of, content)))


def tool_call_id(block: Any) -> str | None:
    """Return the id of a tool call of Bedrock or Anthropic; None if the block is none."""
    return _id(block, "toolUse", "tool_use", "id")


def tool_result_id(block: Any) -> str | None:
    """Return the id of the call that a block answers; None if it is no answer of a tool."""
    return _id(block, "toolResult", "tool_result", "tool_use_id")


def _id(block: Any, bedrock: str, anthropic: str, name: str) -> str | None:
    if not isinstance(block, Mapping):
        return None
    if isinstance(inner := block.get(bedrock), Mapping):
        return str(inner.get("toolUseId"))
    return str(block.get(name)) if block.get("type") == anthropic else None


def _role(said: ChatMessage) -> Role:
    if said.role == ParticipantRole.ASSISTANT.value:
        return Role.ASSISTANT
    return Role.TOOL if any(tool_result_id(block) for block in said.blocks) else Role.USER


def _speaker(said: ChatMessage, agent: str) -> str | None:
    return agent if said.role == ParticipantRole.ASSISTANT.value else None


def _plain(value: Any) -> Any:
    match value:
        case bytes():
            return {_BYTES: base64.b64encode(value).decode()}
        case Mapping():
            return {str(name): _plain(inner) for name, inner in value.items()}
        case str():
            return value.encode(errors="replace").decode()  # no engine can store an unpaired surrogate
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
