"""How many requests an operation sends to the cluster and to DynamoDB. The counts are exact: no time is in them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from mcp_memory_server import Memory, NewTurn, Role, Scope, Statement
from tests.bench.dax_stage import DaxStage, Ways, memory_through_dax
from tests.bench.figures import Cell, Figures

ANA = Scope("ana")
SESSION = Scope("ana", "session")
HELLO = NewTurn(Role.USER, "Where is my order?")

Operation = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class Sent:
    """What one operation sent: to the cluster, of that answered by its item cache, and past it to DynamoDB."""

    cluster: int
    from_cache: int
    table: int


def operations(one: Memory, other: Memory) -> Mapping[str, tuple[Operation, Operation]]:
    """Return what is measured, and what is done just before it; the other memory is that of another process."""

    async def nothing() -> None: ...

    def learn(memory: Memory, city: str) -> Operation:
        return lambda: memory.facts.learn(ANA, Statement(f"Ana lives in {city}.", topic="personal/city"))

    context, recall = lambda: one.context.load(ANA), lambda: one.recall.search(ANA, "Where does Ana live?")
    return {
        "load_context, again": (context, context),
        "recall, again": (recall, recall),
        "load_context after an own write": (learn(one, "Bern"), context),
        "load_context after another process wrote": (learn(other, "Basel"), context),
        "remember_fact, new topic": (
            nothing,
            lambda: one.facts.learn(ANA, Statement("Ana has a cat.", topic="pets")),
        ),
        "remember_fact, known topic": (nothing, learn(one, "Rome")),
        "set_preference": (nothing, lambda: one.preferences.set(ANA, "tone", "brief")),
        "active chat": (nothing, lambda: one.chats.active(ANA, "travel")),
        "load a session from the table": (nothing, lambda: one.conversations.load(SESSION)),
        "append a turn": (
            lambda: one.conversations.append(SESSION, HELLO),
            lambda: one.conversations.append(SESSION, HELLO),
        ),
    }


async def requests_of_each(stage: DaxStage) -> dict[str, Sent]:
    """Do everything once, with both processes warm, and return what each sent."""
    ways = Ways()
    async with memory_through_dax(stage, ways) as one, memory_through_dax(stage, Ways()) as other:
        await one.facts.learn(ANA, Statement("Ana works at Acme."))
        await one.context.load(ANA)
        await other.context.load(ANA)
        sent: dict[str, Sent] = {}
        for what, (before, work) in operations(one, other).items():
            await before()
            sent[what] = Sent(*await ways.of(work))
    return sent


async def measure_requests(stage: DaxStage) -> Figures:
    rows: list[Mapping[str, Cell]] = [
        {"what": what, "cluster": one.cluster, "of these from its cache": one.from_cache, "past it": one.table}
        for what, one in (await requests_of_each(stage)).items()
    ]
    return Figures("Requests of one operation", rows, ("two processes, two nodes; nothing of the session is in Redis",))
