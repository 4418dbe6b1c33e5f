"""How a person types this program where it is installed."""

import shutil
import sys
from pathlib import Path

PROGRAM = "mcp-memory-server"
MODULE = "mcp_memory_server"


def this_program() -> str:
    """Return a command that runs this installation from any folder: its name if that finds it, else its path."""
    program = shutil.which(PROGRAM, path=str(Path(sys.executable).parent))
    if program is None:
        return f"{sys.executable} -m {MODULE}"
    found = shutil.which(PROGRAM)
    return PROGRAM if found is not None and Path(found).resolve() == Path(program).resolve() else program
