"""Running programs that append turns, and killing them."""

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from mcp_memory_server import Settings
from tests.faults.appender import Task
from tests.faults.clients import ROOT
from tests.faults.conversations import environment_of


class Appender:
    """A running program that appends turns."""

    def __init__(self, process: Process) -> None:
        self._process = process

    async def acknowledged(self, most: int = sys.maxsize) -> list[str]:
        """Return up to so many turns, fewer if the program is gone. Half a line is no acknowledgement."""
        turns: list[str] = []
        while len(turns) < most and (told := await self.told()) is not None:
            turns += [told["turn"]] if "turn" in told else []
        return turns

    async def told(self) -> dict[str, Any] | None:
        """Return what the program says next, None if it is gone."""
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    async def kill(self) -> list[str]:
        """Kill it without warning, and return what it had acknowledged meanwhile."""
        self._process.kill()
        rest = await self.acknowledged()
        await self._process.wait()
        return rest

    def terminate(self) -> None:
        """Ask it to end."""
        self._process.terminate()

    async def ended(self) -> int:
        """Wait until it ends by itself, and return its exit code."""
        await self.acknowledged()
        return await self._process.wait()


@asynccontextmanager
async def appending(settings: Settings, task: Task) -> AsyncGenerator[Appender]:
    """Run the program. It is killed at the end if it still runs."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.faults.appender", task.text()),
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment_of(settings)},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=PIPE,
    )
    try:
        yield Appender(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
