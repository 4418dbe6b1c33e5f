"""The memory of one user as a store for the memory manager of Strands."""

from typing import Any

from strands.memory.types import MemoryEntry, Metadata, SearchOptions
from strands.memory.types import MemoryStore as StrandsMemoryStore

from agent_plugins.memory.agent_memory import AgentMemory
from agent_plugins.memory.arguments import named_user
from agent_plugins.memory.shared_memory import Source, shared_memory
from agent_plugins.strands.running_agents import is_in_prompt_already
from mcp_memory_server import Recollection, Scope, Statement

MAX_TOKENS = 800
MOST_RESULTS = 5


class MemoryStore(StrandsMemoryStore):
    """Recalls and learns facts about one user.

    Agent(memory_manager=MemoryManager(stores=[MemoryStore("ana")], add_tool_config=True))

    In an agent that has a `MemoryPlugin` for the same user too, only the plugin adds to the prompt: the store answers
    the tools of the memory manager, and nothing while a call of the model is prepared.

    An unavailable memory raises: the memory manager then goes on without it. ``user`` is the old name of ``user_id``.
    """

    def __init__(
        self,
        user_id: str | None = None,
        *,
        memory: Source = None,
        name: str = "memory",
        description: str | None = "What is known about the user: facts, preferences, earlier decisions.",
        max_search_results: int | None = MOST_RESULTS,
        writable: bool = True,
        **old_names: str | None,
    ) -> None:
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable
        self.extraction = None
        self._scope = Scope(named_user(user_id, old_names))
        self._memory = AgentMemory(shared_memory(memory))

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """Return the memories that answer the query, best first.

        Raises:
            UnavailableError: The memory did not answer, which does not mean that nothing is known.
        """
        if is_in_prompt_already(self._scope.user_id):
            return []
        most = (options or {}).get("max_search_results") or self.max_search_results or MOST_RESULTS
        found = await self._memory.ask(
            lambda memory: memory.recall.search(self._scope, query, max_tokens=MAX_TOKENS),
        )
        return [_entry(recollection) for recollection in found.memories[:most]]

    async def add(self, content: str, metadata: Metadata | None = None) -> Any:
        """Learn a fact, under the topic that the metadata names. Learning it again is one fact with more support."""
        topic = (metadata or {}).get("topic")
        statement = Statement(content, topic=topic if isinstance(topic, str) else None)
        learned = await self._memory.ask(lambda memory: memory.facts.learn(self._scope, statement))
        return {"id": learned.fact.id, "outcome": learned.outcome.value}


def _entry(recollection: Recollection) -> MemoryEntry:
    reply = recollection.to_reply()
    return MemoryEntry(reply.pop("text"), metadata=reply)
