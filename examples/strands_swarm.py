"""Three agents in a bookshop: a Swarm with one memory, one shared state, and a search that breaks and recovers."""

import json
import tempfile
import time
from typing import Any

from scripted_model import Call, ScriptedModel, Seen, call
from strands import Agent, ToolContext, tool
from strands.multiagent import Swarm

from agent_plugins import BreakerRules, Tool, fill_slot
from agent_plugins.strands import MemoryPlugin, for_user
from mcp_memory_server import Settings

REST_SECONDS = 0.2  # 30 by default


class Catalogue:
    """A search that fails while the catalogue is down."""

    is_down = True

    @tool
    def search(self, title: str) -> str:
        """Search the catalogue for a book."""
        if self.is_down:
            raise ConnectionError("the catalogue does not answer")
        return f"{title}: 3 copies, 12 euros"

    @tool
    def shelf(self, title: str) -> str:
        """Look whether a book is on the shelf."""
        return f"{title}: one copy on the shelf"


def hand_over(to: str, message: str) -> Call:
    return call("handoff_to_agent", agent_name=to, message=message)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        plugin = MemoryPlugin(
            memory=Settings(table=f"sqlite://{folder}/memory.db"),
            tools=[Tool("search", alternatives=["shelf"], rules=BreakerRules(threshold=2, rest=REST_SECONDS))],
        )
        with plugin:
            run(plugin)


def run(plugin: MemoryPlugin) -> None:
    catalogue = Catalogue()
    swarm, models = bookshop(plugin, catalogue)

    print("ana:  I look for Dune. My favourite author is Frank Herbert.")
    swarm("I look for Dune. My favourite author is Frank Herbert.", invocation_state=for_user("ana", "chat-1"))
    refusal = json.loads(models["search"].seen[4].text.splitlines()[0])
    print(
        "      search is",
        plugin.status()["tools"]["search"]["health"],
        "- its advice:",
        refusal["advice"],
    )
    print("      the orders agent knows:", models["orders"].seen[0].line("confirmed"))
    print(
        "      the recommendations agent knows:",
        models["recommendations"].seen[0].line("Ana's favourite"),
    )

    catalogue.is_down, sent_for_ana = False, len(models["search"].seen)
    time.sleep(2 * REST_SECONDS)
    print("\nben:  Do you have Emma?")
    swarm("Do you have Emma?", invocation_state=for_user("ben", "chat-2"))
    print(
        "      search is",
        plugin.status()["tools"]["search"]["health"],
        "again:",
        models["search"].seen[-1].line("Emma:"),
    )
    everything = str([seen.messages for seen in models["search"].seen[sent_for_ana:]])
    print("      Ana's author is in the prompts of ben's agents:", "Herbert" in everything)


def bookshop(plugin: MemoryPlugin, catalogue: Catalogue) -> tuple[Swarm, dict[str, ScriptedModel]]:
    @tool(context=True)
    def note_title(title: str, tool_context: ToolContext) -> str:
        """Note for all agents which book this is about."""
        plugin.coordinator(tool_context.invocation_state).change_now(fill_slot("title", title, confirmed=True))
        return "noted"

    models = {
        "search": ScriptedModel(  # a real one: BedrockModel()
            call("remember_fact", fact="Ana's favourite author is Frank Herbert.", topic="tastes/author"),
            call("search", title="Dune"),
            call("search", title="Dune (hardcover)"),
            call("search", title="Dune (paperback)"),
            [call("shelf", title="Dune"), call("note_title", title="Dune")],
            hand_over("orders", "There is a copy of Dune on the shelf."),
            "Over to orders.",
            call("search", title="Emma"),
            lambda seen: f"Yes. {seen.line('Emma:')}.",
        ),
        "orders": ScriptedModel(hand_over("recommendations", "Dune is put aside."), "Over to recommendations."),
        "recommendations": ScriptedModel(suggest),
    }
    tools: dict[str, list[Any]] = {"search": [catalogue.search, catalogue.shelf, note_title]}
    agents = [
        Agent(name=name, model=model, tools=tools.get(name), callback_handler=None) for name, model in models.items()
    ]
    return Swarm(agents, entry_point=agents[0], plugins=[plugin]), models


def suggest(seen: Seen) -> str:
    return "You may also like Children of Dune: " + seen.line("Ana's favourite")


if __name__ == "__main__":
    main()
