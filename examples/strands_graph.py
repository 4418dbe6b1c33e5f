"""A Graph: two agents work at the same time, a third one puts together what they found out in the shared state."""

import tempfile
from typing import Any

from scripted_model import ScriptedModel, Seen, call
from strands import Agent, ToolContext, tool
from strands.multiagent import GraphBuilder

from agent_plugins import fill_slot, need_slots
from agent_plugins.strands import MemoryPlugin, for_user
from mcp_memory_server import Settings


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, MemoryPlugin(memory=in_folder(folder)) as plugin:
        run(plugin)


def in_folder(folder: str) -> Settings:
    return Settings(table=f"sqlite://{folder}/memory.db")


def run(plugin: MemoryPlugin) -> None:
    @tool(context=True)
    def note(slot: str, value: str, tool_context: ToolContext) -> str:
        """Note for all agents what was found out."""
        plugin.coordinator(tool_context.invocation_state).change_now(
            fill_slot(slot, value, confirmed=True, agent=tool_context.agent.name)  # looked up, so the user need not say
        )
        return "noted"

    def agent(name: str, model: ScriptedModel, *tools: Any) -> Agent:
        return Agent(name=name, model=model, tools=list(tools), callback_handler=None)

    adviser = ScriptedModel(advise)  # a real one: BedrockModel()
    builder = GraphBuilder()
    builder.add_node(
        agent("stock", ScriptedModel(call("note", slot="copies", value="3"), "Three copies."), note), "stock"
    )
    builder.add_node(
        agent("price", ScriptedModel(call("note", slot="price", value="12 euros"), "Twelve."), note), "price"
    )
    builder.add_node(agent("adviser", adviser), "adviser")
    for node in ("stock", "price"):
        builder.add_edge(node, "adviser")
    graph = builder.set_execution_timeout(60).set_plugins([plugin]).build()

    session = for_user("ana", "chat-1")
    plugin.coordinator(session).change_now(need_slots("copies", "price"))
    result = graph("Shall I buy Dune here?", invocation_state=session)

    print("ana:     Shall I buy Dune here?")
    print("adviser:", str(result.results["adviser"].result).strip())
    print("\nthe shared state, as the adviser's model was sent it:\n")
    print("\n".join(adviser.seen[0].text.partition("<state id=")[2].splitlines()[1:-1]))


def advise(seen: Seen) -> str:
    copies, price = seen.line('"copies"'), seen.line('"price"')
    return f"I would. {copies}; {price}."


if __name__ == "__main__":
    main()
