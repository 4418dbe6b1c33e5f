"""An Agent Squad with two agents: one memory, one conversation, a tool that fails without sinking the request."""

import asyncio
import logging
import tempfile
from typing import Any

from agent_squad.agents import BedrockLLMAgent, BedrockLLMAgentOptions
from agent_squad.classifiers import Classifier, ClassifierResult
from agent_squad.types import ConversationMessage
from agent_squad.utils import AgentTool
from scripted_bedrock import ScriptedBedrock

from agent_plugins.agent_squad import GuardedTools, MemorySquad, memory_tools
from mcp_memory_server import Settings

logging.getLogger().setLevel(logging.WARNING)  # importing Agent Squad sets it to INFO


class ByKeyword(Classifier):
    """Chooses by a word, where a real squad asks a model: leave the classifier out and Bedrock does it."""

    async def process_request(self, input_text: str, chat_history: list[ConversationMessage]) -> ClassifierResult:  # noqa: ARG002
        wanted = "orders" if "order" in input_text.lower() else "search"
        return ClassifierResult(selected_agent=self.agents[wanted], confidence=0.9)


def track(number: str) -> str:
    """Return where a parcel is."""
    raise ConnectionError(f"nobody answers for parcel {number}")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        squad = MemorySquad(classifier=ByKeyword(), memory=Settings(table=f"sqlite://{folder}/memory.db"))
        search = ScriptedBedrock(
            ("set_preference", {"key": "binding", "value": "paperback"}),
            "Noted: paperbacks. Dune is there.",
        )
        orders = ScriptedBedrock(
            ("track", {"number": "7"}),
            lambda seen: f"I cannot see the parcel now ({reason_in(seen)}).",
            lambda seen: f"Ordered, as you like it: {line_with('binding', seen)}.",
        )
        squad.add_agent(bookseller("search", "Finds books.", search))
        squad.add_agent(bookseller("orders", "Takes orders and tracks parcels.", orders))
        for words in ("Do you have Dune? I only read paperbacks.", "Where is my order?", "Then order Dune."):
            response = await squad.route_request(words, user_id="ana", session_id="chat-1")
            print(f"ana:     {words}")
            answer: Any = response.output
            print(f"{response.metadata.agent_name + ':':9}{answer.content[0]['text']}")
        print("\nwhat the orders agent was sent when it joined:\n")
        print(orders.seen[0])
        print(
            "\nthe state that both share:",
            squad.coordinator("ana", "chat-1").state.conversation.active_agent,
            "is in charge",
        )
        squad.close()


def bookseller(name: str, description: str, client: ScriptedBedrock) -> BedrockLLMAgent:
    tools = GuardedTools([*memory_tools(), AgentTool("track", func=track)])
    return BedrockLLMAgent(
        BedrockLLMAgentOptions(
            name=name,
            description=description,
            tool_config={"tool": tools, "toolMaxRecursions": 10},
            client=client,  # without this line: the real Bedrock
        )
    )


def line_with(words: str, text: str) -> str:
    return next((line.removeprefix("- ") for line in text.splitlines() if words in line), "nothing about that")


def reason_in(text: str) -> str:
    return text.partition('"reason": "')[2].partition('"')[0]


if __name__ == "__main__":
    asyncio.run(main())
