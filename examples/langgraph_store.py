"""A store for LangGraph: a value is found by meaning, and an MCP client would recall it too."""

import asyncio
import tempfile

from agent_plugins.langgraph import AgentMemoryStore
from mcp_memory_server import Scope, Settings, open_memory


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with open_memory(Settings(table=f"sqlite://{folder}/memory.db")) as memory:
            store = AgentMemoryStore("ana", memory=memory)
            await store.aput(("ana", "food"), "breakfast", {"text": "Ana has porridge with figs in the morning."})
            await store.aput(("ana", "pets"), "cat", {"text": "Miso is Ana's grey cat."})

            (best, *_) = await store.asearch(("ana",), query="What does she eat when she gets up?")
            print("the graph finds:  ", best.namespace, best.key)
            found = await memory.recall.search(Scope("ana"), "What is the cat called?")
            print("a client recalls: ", found.memories[0].text)


if __name__ == "__main__":
    asyncio.run(main())
