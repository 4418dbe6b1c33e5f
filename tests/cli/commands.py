"""Running a command, in this process or in one of its own, and what came of it."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mcp_memory_server.cli import main

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-m", "mcp_memory_server"]
PATH = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
SECONDS = 60

LISBON = ("remember", "Ana lives in Lisbon.", "--topic", "personal/location/city")
PORTO = ("remember", "Ana lives in Porto.", "--topic", "personal/location/city")


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def rows(self) -> list[list[str]]:
        """The rows of the table that was printed, without its headings; cells are set apart by two spaces."""
        return [[cell.strip() for cell in line.split("  ") if cell.strip()] for line in self.out.splitlines()[2:]]


Run = Callable[..., Done]


def run_with(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: str) -> Done:
        capsys.readouterr()
        try:
            code = main(arguments)
        except SystemExit as stopped:
            code = stopped.code
        assert isinstance(code, int)
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return run


def environment(**own: str) -> dict[str, str]:
    """Return an environment in which a process finds this working copy, and buffers its output as it would anywhere."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    return {**kept, "PYTHONPATH": PATH, **own}


def run_apart(*arguments: str, stdin: str = "", **own: str) -> Done:
    """Run a command in a process of its own, with nobody at the keyboard."""
    done = subprocess.run(
        [*COMMAND, *arguments],
        env=environment(**own),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return Done(done.returncode, done.stdout, done.stderr)
