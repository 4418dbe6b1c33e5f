"""Answers: what was found, whether that is all of it, and how it is written so that it fits the reader's budget."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from mcp_memory_server.domain.memories import Kind, KnownMemory, confidence
from mcp_memory_server.domain.text import ever_shorter
from mcp_memory_server.errors import InvalidRequestError

SMALLEST_BUDGET = 50
LARGEST_BUDGET = 20_000
MOST_MISSES = 8
"""After so many memories that were too long for the room that is left, looking for a shorter one is not worth it."""

Count = Callable[[str], int]


class Status(StrEnum):
    """Whether everything could be looked at. "Nothing is known" and "I could not look" are different answers."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    UNAVAILABLE = "unavailable"


@dataclass(frozen=True)
class Recollection:
    """One memory as it is told: short, dated, and with its id, by which it can be replaced or forgotten."""

    id: str
    text: str
    kind: Kind
    topic: str | None
    since: str
    confidence: float

    def to_reply(self) -> dict[str, Any]:
        """Return what a reader gets, without what goes without saying."""
        reply = {"id": self.id, "text": self.text, "kind": self.kind.value, "topic": self.topic, "since": self.since}
        if self.kind is Kind.FACT:
            del reply["kind"]
        if self.topic is None:
            del reply["topic"]
        return {**reply, "confidence": self.confidence}


@dataclass(frozen=True)
class Recalled:
    """The answer to a question. ``more`` further memories also matched and did not fit."""

    status: Status
    memories: tuple[Recollection, ...]
    more: int = 0
    missing: tuple[str, ...] = ()

    def to_reply(self) -> dict[str, Any]:
        """Return what a reader gets."""
        reply: dict[str, Any] = {"status": self.status.value, "memories": [told.to_reply() for told in self.memories]}
        if self.more:
            reply["more"] = self.more
        if self.missing:
            reply["missing"] = list(self.missing)
        return reply


def reply_text(reply: dict[str, Any]) -> str:
    """Return the reply as it is sent: this is what a budget of tokens counts."""
    return json.dumps(reply, ensure_ascii=False, separators=(",", ":"))


def check_budget(max_tokens: int) -> None:
    """Refuse a budget in which nothing useful can be said, or that no reader has.

    Raises:
        InvalidRequestError: It is out of range.
    """
    if not SMALLEST_BUDGET <= max_tokens <= LARGEST_BUDGET:
        raise InvalidRequestError(f"max_tokens must be {SMALLEST_BUDGET} to {LARGEST_BUDGET:,}, got {max_tokens}")


def told(memory: KnownMemory, now: datetime) -> Recollection:
    """Return the memory as it is told now."""
    return Recollection(
        memory.id,
        memory.text,
        memory.kind,
        memory.topic,
        f"{memory.since:%Y-%m-%d}",
        round(confidence(memory, now), 2),
    )


def fit_recalled(ranked: Sequence[Recollection], answer: Recalled, count: Count, max_tokens: int) -> Recalled:
    """Return the answer with the best of the ranked memories that fit, the whole reply counted.

    One that is too long makes room for shorter ones behind it; if none fits, the best one is cut.
    """
    empty = replace(answer, memories=(), more=len(ranked))
    room = max_tokens - count(reply_text(empty.to_reply()))
    chosen: list[Recollection] = []
    misses = 0
    for memory in ranked:
        cost = count(reply_text(memory.to_reply())) + 1
        if cost <= room:
            chosen.append(memory)
            room -= cost
        elif (misses := misses + 1) > MOST_MISSES:
            break
    fitted = replace(empty, memories=tuple(chosen), more=len(ranked) - len(chosen))
    while fitted.memories and count(reply_text(fitted.to_reply())) > max_tokens:
        fitted = replace(fitted, memories=fitted.memories[:-1], more=fitted.more + 1)
    if ranked and not fitted.memories:
        for text in ever_shorter(ranked[0].text):
            cut = replace(empty, memories=(replace(ranked[0], text=text),), more=len(ranked) - 1)
            if count(reply_text(cut.to_reply())) <= max_tokens:
                return cut
    return fitted
