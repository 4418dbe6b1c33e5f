"""Recall: the memories that answer a question, within a budget of tokens."""

from collections.abc import Callable, Sequence
from datetime import datetime

from mcp_memory_server.domain.answers import Recalled, Status, check_budget, fit_recalled, told
from mcp_memory_server.domain.facts import Standing, held_at
from mcp_memory_server.domain.memories import Known, KnownMemory, alive, from_fact, under_topic
from mcp_memory_server.domain.ranking import rank
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.domain.text import checked_text
from mcp_memory_server.domain.topics import checked_prefix
from mcp_memory_server.errors import NotFoundError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.token_counter import TokenCounter
from mcp_memory_server.schema import keys
from mcp_memory_server.schema.records import fact_from
from mcp_memory_server.services.known_memories import KnownMemories

MAX_QUESTION_BYTES = 8 * 1024
DEFAULT_MAX_TOKENS = 800


class Recall:
    """Searches what is known of one user. Forgotten, expired and superseded memories are never found."""

    def __init__(
        self, table: ItemTable, known: KnownMemories, count: TokenCounter, now: Callable[[], datetime]
    ) -> None:
        self._table = table
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
        among = await self._among(scope, known, topic, as_of)
        ranked = [told(memory, now) for memory in alive(rank(known, question, now, among), now)]
        return fit_recalled(ranked, _answer(known), self._count, max_tokens)

    async def _among(
        self, scope: Scope, known: Known, topic: str | None, as_of: datetime | None
    ) -> Sequence[KnownMemory] | None:
        """Return what the search is limited to, None if it is not limited."""
        if topic is None and as_of is None:
            return None
        chosen: Sequence[KnownMemory] = known.memories
        if as_of is not None:
            chosen = _held([*chosen, *await self._past(scope)], as_of)
        return chosen if topic is None else _below(chosen, topic)

    async def _past(self, scope: Scope) -> list[KnownMemory]:
        page = await self._table.query(keys.user_partition(scope.user_id), prefix=keys.PAST_FACTS, limit=None)
        return [from_fact(fact_from(item)) for item in page.items]


def _answer(known: Known) -> Recalled:
    if not known.unreadable:
        return Recalled(Status.COMPLETE, ())
    return Recalled(Status.PARTIAL, (), missing=(f"{known.unreadable} stored memories could not be read",))


def _held(memories: Sequence[KnownMemory], moment: datetime) -> list[KnownMemory]:
    return [
        memory
        for memory in memories
        if (memory.since <= moment if memory.fact is None else held_at(memory.fact, moment))
        and (memory.fact is None or memory.fact.standing is not Standing.CANDIDATE)
    ]


def _below(memories: Sequence[KnownMemory], topic: str) -> list[KnownMemory]:
    chosen = under_topic(memories, checked_prefix(topic))
    if not chosen:
        known = sorted({memory.topic.partition("/")[0] + "/" for memory in memories if memory.topic})
        have = f"the known topics are {', '.join(known[:20])}" if known else "no topic is known yet"
        raise NotFoundError(f"nothing is known under the topic {topic!r}; {have}. Leave topic out to search everything")
    return chosen
