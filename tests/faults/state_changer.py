"""A program whose agents change the state that they share, and say which changes were acknowledged, one line each.

It is made to be killed. Its settings are those of the environment.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from agent_plugins.state.change_batches import Saved
from agent_plugins.state.changes import begin_task, fill_slot, start_step, take_turn
from agent_plugins.state.session_state import Change, SessionState
from agent_plugins.state.state_coordinator import StateCoordinator
from mcp_memory_server import Scope, Status, open_memory

CHAT = Scope("ana", "chat")
PLACES = 5
"""Each agent has so many slots and steps of its own."""


@dataclass(frozen=True)
class Task:
    """Which agents change something how often; the first change of each has this number."""

    agents: Sequence[str]
    upto: int
    first: int = 0

    def text(self) -> str:
        return json.dumps(asdict(self))


async def run(task: Task) -> None:
    async with open_memory() as memory:
        coordinator = StateCoordinator(memory, CHAT)
        restored = await until_saved(coordinator.refresh)
        print(json.dumps({"restored": restored.state.conversation.turn_count}), flush=True)
        await coordinator.change(lambda state: state if state.task else begin_task("count", task_id="1")(state))
        await asyncio.gather(*(change(coordinator, agent, task) for agent in task.agents))


async def change(coordinator: StateCoordinator, agent: str, task: Task) -> None:
    for number in range(task.first, task.upto):
        name = f"{agent} {number}"
        changes = take_turn(), counted(agent, number)
        saved = await until_saved(partial(coordinator.change, *changes, operation_id=name))
        known = (await until_saved(coordinator.refresh)).state
        for state in (saved.state, known):  # both said that they are complete
            assert counts(state).get(agent) == number + 1, f"after {name} it was {counts(state).get(agent)}"
        print(json.dumps({"turn": name}), flush=True)


async def until_saved(call: Callable[[], Awaitable[Saved]]) -> Saved:
    """Send again what was not acknowledged, as a caller would: a busy machine may miss a deadline of the memory."""
    saved = await call()
    while saved.status is not Status.COMPLETE:
        await asyncio.sleep(0.05)
        saved = await call()
    return saved


def counted(agent: str, number: int) -> Change:
    """Return a change that counts in a slot or in a step, so that one that is lost or done twice is seen in the sum."""
    place = f"{agent}/{number % PLACES}"
    if number % 2:
        return start_step(place, "count")

    def one_more(state: SessionState) -> SessionState:
        slot = state.conversation.slots.get(place)
        return fill_slot(place, (slot.value if slot else 0) + 1, agent=agent)(state)

    return one_more


def counts(state: SessionState) -> dict[str, int]:
    """Return how many changes of each agent are in the state."""
    found: dict[str, int] = {}
    for place, slot in state.conversation.slots.items():
        agent = place.partition("/")[0]
        found[agent] = found.get(agent, 0) + slot.value
    for place, step in state.task.steps.items() if state.task else ():
        agent = place.partition("/")[0]
        found[agent] = found.get(agent, 0) + step.retries + 1
    return found


if __name__ == "__main__":
    asyncio.run(run(Task(**json.loads(sys.argv[1]))))
