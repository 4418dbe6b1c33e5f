"""A Strands agent that asks for what is missing, and hands over to a person with a packet when it cannot go on."""

import json
import tempfile
from typing import Any

from scripted_model import ScriptedModel, call
from strands import Agent, ToolContext, tool

from agent_plugins import ask_for_missing_slot, fill_slot, need_slot, understand
from agent_plugins.strands import MemoryPlugin
from mcp_memory_server import Settings


def tools(plugin: MemoryPlugin) -> list[Any]:
    @tool(context=True)
    def return_parcel(parcel: str, tool_context: ToolContext) -> str:
        """Return a parcel. Say which one."""
        state = plugin.coordinator(tool_context.invocation_state)
        state.change_now(
            understand("return a parcel"),
            need_slot("reason", question="Why do you return it?", values=["broken", "too late", "not liked"]),
            fill_slot("parcel", parcel, confirmed=True, agent="returns"),
            ask_for_missing_slot(agent="returns"),
        )
        return "Ask the user what is still needed."

    @tool(context=True)
    def ask_a_person(reason: str, tool_context: ToolContext) -> str:
        """Hand the conversation over to a person, and say why."""
        packet = plugin.coordinator(tool_context.invocation_state).escalate_now(reason, to="service desk", turns=3)
        sent = packet.to_dict()  # plain data, for the system of the service desk
        for name in ("format", "to", "reason", "intent", "summary", "open_questions", "slots"):
            print(f"       {name}: {json.dumps(sent[name])}")
        return "A person takes over."

    return [return_parcel, ask_a_person]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = Settings(table=f"sqlite://{folder}/memory.db")  # without it: a file in your data folder
        with MemoryPlugin(user_id="ana", session_id="chat-7", memory=memory) as plugin:
            agent = Agent(
                model=ScriptedModel(  # a real one: BedrockModel()
                    call("return_parcel", parcel="P-29"),
                    lambda seen: "Gladly. " + seen.line("waiting for").split('"')[1],
                    call("ask_a_person", reason="the user wants to speak to a person"),
                    "I have asked a colleague, who takes over now.",
                    lambda seen: seen.line("has taken over").capitalize(),
                ),
                tools=tools(plugin),
                plugins=[plugin],
                name="returns",
                callback_handler=None,
            )
            for words in ("I want to return parcel P-29.", "Let me speak to a person.", "Hello?"):
                print("ana:  ", words)
                print("agent:", str(agent(words)).strip())
                print("phase:", plugin.coordinator().state.conversation.phase)


if __name__ == "__main__":
    main()
