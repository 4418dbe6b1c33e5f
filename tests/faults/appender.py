"""A program that appends turns and says which were acknowledged, one line each; it is made to be killed.

Its settings are those of the environment. With no turns to append it delivers what waits, and ends.
"""

import asyncio
import json
import sys
from dataclasses import asdict, dataclass
from datetime import timedelta

from mcp_memory_server import Memory, Scope, open_memory
from mcp_memory_server.domain.sessions.turns import NewTurn, Role
from mcp_memory_server.services.sessions import outbox_worker as outbox_worker
from tests.faults.conversations import USER, until_delivered


@dataclass(frozen=True)
class Task:
    """Which turns to append; afterwards the program waits until it is killed, unless it is to end."""

    session: str = "chat"
    first: int = 0
    upto: int = 0
    lease_seconds: float = outbox_worker.LEASE.total_seconds()
    look_seconds: float = outbox_worker.IDLE_SECONDS
    ends: bool = False

    def text(self) -> str:
        return json.dumps(asdict(self))


async def run(task: Task) -> None:
    outbox_worker.LEASE = timedelta(seconds=task.lease_seconds)
    outbox_worker.IDLE_SECONDS = task.look_seconds
    async with open_memory() as memory:
        _say(ready=True)
        await _append(memory, task)
        if task.ends:
            await until_delivered(memory)
        else:
            await asyncio.Event().wait()


async def _append(memory: Memory, task: Task) -> None:
    scope = Scope(USER, task.session)
    for number in range(task.first, task.upto):
        content = f"turn {number}"
        appended = await memory.conversations.append(scope, NewTurn(Role.USER, content), operation_id=content)
        _say(turn=content, pending=appended.pending)


def _say(**told: object) -> None:
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    asyncio.run(run(Task(**json.loads(sys.argv[1]))))
