"""A conversation: appended turn by turn, loaded at once, repeated safely, paged back, shared by agents, ended."""

import asyncio
import tempfile

from mcp_memory_server import ConflictError, Memory, NewTurn, Role, Scope, Settings, open_memory

SESSION = Scope("ana", "trip to Rome")


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with open_memory(Settings(table=f"sqlite://{folder}/memory.db")) as memory:
            await hold_conversation(memory)
            await share(memory)


async def hold_conversation(memory: Memory) -> None:
    asked = NewTurn(Role.USER, "I prefer trains to planes. Please plan a trip to Rome.", intent="plan_trip")
    first = await memory.conversations.append(SESSION, asked, operation_id="message-1")
    again = await memory.conversations.append(SESSION, asked, operation_id="message-1")
    print("appended twice: ", "one turn" if first.turn.id == again.turn.id else "two turns")
    print("importance:     ", first.turn.importance, "- a stated preference is dropped last")

    for day in range(1, 31):
        await memory.conversations.append(SESSION, NewTurn(Role.ASSISTANT, f"Day {day}: a walk.", agent="planner"))
    loaded = await memory.conversations.load(SESSION)
    print("loaded:         ", len(loaded.turns), "of", loaded.turn_count, "turns,", loaded.status)

    older = await memory.conversations.before(SESSION, loaded.cursor or "", turns=5)
    print("further back:   ", [turn.content for turn in older.turns])

    page = await memory.context.load(SESSION, max_tokens=200)
    print("for the model:  ", page.text.splitlines()[-1])
    print("ended with:     ", (await memory.conversations.end(SESSION)).turn_count, "turns")


async def share(memory: Memory) -> None:
    """Let two agents fill in one form. The second one gets a conflict, reads again, and loses nothing."""
    version = await memory.states.write(SESSION, {"city": "Rome"}, expected_version=0)
    await memory.states.write(SESSION, {"city": "Rome", "days": 30}, expected_version=version)
    try:
        await memory.states.write(SESSION, {"city": "Rome", "budget": 900}, expected_version=version)
    except ConflictError:
        seen = await memory.states.read(SESSION)
        await memory.states.write(SESSION, {**seen.value, "budget": 900}, expected_version=seen.version)
    print("shared state:   ", (await memory.states.read(SESSION)).value)


if __name__ == "__main__":
    asyncio.run(main())
