"""A Strands agent that learns a preference in mid-conversation and uses it in the next session."""

import tempfile

from scripted_model import ScriptedModel, Seen, call
from strands import Agent

from agent_plugins.strands import MemoryPlugin
from mcp_memory_server import Settings


def recommend(seen: Seen) -> str:
    """Answer with what the memory put before the model."""
    return f"Then you may like Piranesi, because you prefer {seen.line('reading')!r}."


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        memory = Settings(table=f"sqlite://{folder}/memory.db")  # without it: a file in your data folder

        with MemoryPlugin(user_id="ana", session_id="monday", memory=memory) as plugin:
            monday = Agent(
                model=ScriptedModel(  # a real one: BedrockModel()
                    "A good evening for a book. What do you like?",
                    call("set_preference", key="reading", value="short novels, no horror"),
                    "I will remember that.",
                ),
                plugins=[plugin],
                callback_handler=None,
            )
            print("ana:    Good evening!")
            print("agent: ", monday("Good evening!"), end="")
            print("ana:    I like short novels, but no horror, please.")
            print("agent: ", monday("I like short novels, but no horror, please."), end="")
            print("        kept in its history:", len(monday.messages), "messages, none of them about the memory\n")

        with MemoryPlugin(user_id="ana", session_id="tuesday", memory=memory) as plugin:
            model = ScriptedModel(recommend)
            tuesday = Agent(model=model, plugins=[plugin], callback_handler=None)
            print("ana:    What shall I read next?")
            print("agent: ", tuesday("What shall I read next?"))
            print("what the model was sent:\n")
            print(model.seen[0].text)


if __name__ == "__main__":
    main()
