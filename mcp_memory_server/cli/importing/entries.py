"""What an import consists of: statements, turns of conversations, and what could not be used."""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from mcp_memory_server.domain.conversations.transcripts import TranscribedTurn
from mcp_memory_server.domain.facts.fact import MAX_FACT_BYTES, Source, Statement
from mcp_memory_server.domain.facts.topics import MAX_TOPIC_BYTES
from mcp_memory_server.domain.kernel.credentials import without_credentials
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.errors import MemoryServerError

MILLISECONDS_FROM = 10_000_000_000
"""Unix times above this are in milliseconds."""

_NOT_IN_TOPICS = re.compile(r"[\s/#|]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_ROLES = {
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "model": Role.ASSISTANT,
}


@dataclass(frozen=True)
class Refused:
    """A part that could not be used, where it is, and why."""

    where: str
    reason: str


Entry = Statement | TranscribedTurn | Refused


def facts(text: object, where: str, *, topic: str | None = None, at: object = None) -> Iterator[Entry]:
    """Yield the text as statements, several if it is too long for one. Credentials are left out."""
    if not isinstance(text, str):
        yield Refused(where, f"a text was expected, got {type(text).__name__}")
        return
    cleaned, _ = without_credentials(_CONTROL.sub(" ", text))
    for piece in _pieces(cleaned.strip()):
        try:
            yield Statement(piece, topic=topic, source=Source.IMPORTED, said_at=moment_from(at))
        except MemoryServerError as error:
            yield Refused(where, str(error))


def turns(
    text: object, where: str, *, session: str, source_id: str, role: object, at: object = None, agent: str | None = None
) -> Iterator[Entry]:
    """Yield the message as a turn; nothing if it is empty or its role is not that of a user or an assistant."""
    known = _ROLES.get(str(role).lower())
    if known is None or not isinstance(text, str) or not text.strip():
        return
    try:
        turn = NewTurn(known, text.strip(), said_at=moment_from(at), source_id=source_id, agent=agent)
        yield TranscribedTurn(session, turn, _operation(session, source_id))
    except MemoryServerError as error:
        yield Refused(where, str(error))


def moment_from(value: object) -> datetime | None:
    """Return the time that a program wrote, as ISO 8601 or as Unix time in seconds or milliseconds; else None."""
    try:
        if isinstance(value, str) and not _is_number(value):
            moment = datetime.fromisoformat(value.strip())
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = float(value)  # type: ignore[arg-type]
        return datetime.fromtimestamp(seconds / 1000 if seconds > MILLISECONDS_FROM else seconds, UTC)
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def topic_of(*parts: object) -> str | None:
    """Return a topic of these parts, in lower case and without what a topic may not hold; None if nothing is left."""
    words = [_NOT_IN_TOPICS.sub("-", str(part).strip().lower()).strip("-") for part in parts if part]
    topic = "/".join(word for word in words if word)
    while len(topic.encode()) > MAX_TOPIC_BYTES:
        topic = topic[: len(topic) - 16].rstrip("/-")
    return topic or None


def text_of(content: Any) -> str:
    """Return the text of a message's content: a text, or a list of texts and of blocks that hold one."""
    if isinstance(content, str):
        return content
    if isinstance(content, dict):
        return text_of(content.get("text") or content.get("content") or content.get("parts") or "")
    if isinstance(content, list):
        return "\n".join(filter(None, (text_of(part) for part in content)))
    return ""


def _operation(session: str, source_id: str) -> str:
    content = f"{session}\n{source_id}"
    return f"import-{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def _is_number(text: str) -> bool:
    return bool(re.fullmatch(r"\s*-?\d+(\.\d+)?\s*", text)) and not re.fullmatch(r"\d{8}|\d{4}", text.strip())


def _pieces(text: str) -> Iterator[str]:
    """Yield the text in parts that fit a fact, divided at paragraphs, lines, sentences or words."""
    if len(text.encode(errors="surrogatepass")) <= MAX_FACT_BYTES:
        if text:
            yield text
        return
    for separator in ("\n\n", "\n", ". ", " "):
        middle = text.find(separator, len(text) // 2)
        if middle > 0:
            break
    else:
        middle = len(text) // 2
    yield from _pieces(text[: middle + 1].strip())
    yield from _pieces(text[middle + 1 :].strip())
