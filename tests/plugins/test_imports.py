"""Breakers, guards and state bring no framework along, and no Redis either."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAVY = {"agent_squad", "anthropic", "boto3", "botocore", "mcp", "redis", "strands"}

PROGRAM = """
import sys
import agent_plugins.breakers.status_file, agent_plugins.breakers.tool_registry
import agent_plugins.guards.agent_locks, agent_plugins.state.changes
import agent_plugins.state.state_coordinator, agent_plugins.state.token_budget
print(*sorted({name.partition('.')[0] for name in sys.modules}))
"""


def test_what_knows_no_framework_loads_none() -> None:
    loaded = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)

    assert HEAVY.isdisjoint(loaded.stdout.split())
