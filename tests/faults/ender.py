"""A program that finalizes sessions, made to be killed. Its settings are those of the environment."""

import asyncio
import random
import sys
from datetime import timedelta

from mcp_memory_server import Scope, open_memory
from mcp_memory_server.domain.summaries.material import Material
from mcp_memory_server.domain.summaries.summary import Draft
from mcp_memory_server.services.summaries import finalizer_worker, session_leases
from mcp_memory_server.services.summaries.summarizing import Summarizing


async def run(lease_seconds: float) -> None:
    session_leases.LEASE = timedelta(seconds=lease_seconds)
    finalizer_worker.IDLE_SECONDS = finalizer_worker.LISTED_SECONDS = lease_seconds / 4
    draft = Summarizing.draft

    async def slowly(self: Summarizing, scope: Scope, material: Material) -> tuple[Draft, str]:
        await asyncio.sleep(random.uniform(0, 0.2))  # as a model takes its time: this is when a lease is held
        return await draft(self, scope, material)

    Summarizing.draft = slowly
    async with open_memory(finalize_sessions=True):
        print("ready", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(run(float(sys.argv[1])))
