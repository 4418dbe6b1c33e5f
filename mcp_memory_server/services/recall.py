"""Recall: the memories that answer a question, within a budget of tokens."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from mcp_memory_server.domain.answers import Recalled, Status, check_budget, fit_recalled, told
from mcp_memory_server.domain.facts import held_at
from mcp_memory_server.domain.memories import Kind, Known, KnownMemory, alive, under_topic
from mcp_memory_server.domain.ranking import rank
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.text import checked_text
from mcp_memory_server.domain.topics import checked_prefix
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.services.known_memories import KnownMemories

MAX_QUESTION_BYTES = 8 * 1024
DEFAULT_MAX_TOKENS = 800
SHORTEST_MEMORY = 20
"""No memory is told in fewer tokens: its id, its date and its confidence alone take as many."""


class Recall:
    """Searches what is known of one user. Forgotten, expired and superseded memories are never found."""

    def __init__(self, known: KnownMemories, count: TokenCounter, now: Callable[[], datetime]) -> None:
        self._known = known
        self._count = count
        self._now = now

    async def search(
        self,
        scope: Scope,
        question: str,
        *,
        max_tokens: int = DEFAULT_MAX_TOKENS,
        topic: str | None = None,
        as_of: datetime | None = None,
    ) -> Recalled:
        """Return the best memories for the question that fit, whole reply counted.

        ``topic`` limits the search to one topic and those below it; ``as_of`` asks what was true at that time.

        Raises:
            NotFoundError: Nothing at all is known under the topic.
        """
        check_budget(max_tokens)
        question = checked_text("query", question, MAX_QUESTION_BYTES)
        now = self._now()
        known = await self._known.of(scope)
        if as_of is not None:
            known = _held(known, await self._known.past(scope), as_of)
        among = None if topic is None else _below(known.memories, topic)
        ranked = alive(rank(known, question, now, among), now)
        # What could not fit even if it were short is counted, not written out.
        able = [told(memory, now) for memory in ranked[: max_tokens // SHORTEST_MEMORY]]
        fitted = fit_recalled(able, _answer(known), self._count, max_tokens)
        return replace(fitted, more=fitted.more + len(ranked) - len(able))


def _answer(known: Known) -> Recalled:
    if not known.unreadable:
        return Recalled(Status.COMPLETE, ())
    return Recalled(Status.PARTIAL, (), missing=(f"{known.unreadable} stored memories could not be read",))


def _held(known: Known, past: Known, moment: datetime) -> Known:
    held = [
        memory
        for memory in (*known.rows, *past.rows)
        if (memory.since <= moment if memory.fact is None else held_at(memory.fact, moment))
        and memory.kind is not Kind.CANDIDATE
    ]
    return Known(known.stamp, held, known.unreadable + past.unreadable)


def _below(memories: Sequence[KnownMemory], topic: str) -> list[KnownMemory]:
    chosen = under_topic(memories, checked_prefix(topic))
    if not chosen:
        known = sorted({memory.topic.partition("/")[0] + "/" for memory in memories if memory.topic})
        have = f"the known topics are {', '.join(known[:20])}" if known else "no topic is known yet"
        raise NotFoundError(f"nothing is known under the topic {topic!r}; {have}. Leave topic out to search everything")
    return chosen
