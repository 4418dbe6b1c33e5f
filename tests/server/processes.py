"""The server as a process of its own, from this working copy."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mcp.client.stdio import StdioServerParameters

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "mcp_memory_server"]
PATH = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
STOP_SECONDS = 15


def environment(table: Path, user: str = "ana") -> dict[str, str]:
    own = {"MCP_MEMORY_TABLE": f"sqlite://{table}", "MCP_MEMORY_USER": user, "PYTHONPATH": PATH}
    return {**os.environ, **own}


def over_stdio(table: Path, user: str = "ana") -> StdioServerParameters:
    return StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=environment(table, user))


@dataclass(frozen=True)
class Served:
    """A running server: its process, the port it chose, and what it said when it was ready."""

    process: subprocess.Popen[str]
    port: int
    said: str

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"


@contextmanager
def over_http(
    table: Path,
    *,
    start: Sequence[str] = COMMAND,
    arguments: Sequence[str] = ("--no-auth",),
    variables: Mapping[str, str] = {},
) -> Iterator[Served]:
    """Run the server on a free port, without tokens unless the arguments say so. It is stopped at the end."""
    process = subprocess.Popen(
        [*start, "serve", "--http", "--port", "0", *arguments],
        env={**environment(table), **variables},
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    with process, process.stderr:
        try:
            said = process.stderr.readline()
            address = re.search(r"http://127\.0\.0\.1:(\d+)/mcp", said)
            assert address, said + process.stderr.read()
            yield Served(process, int(address[1]), said)
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            finally:
                process.kill()
