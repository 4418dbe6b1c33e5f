"""Importing the public names of the plugins loads no framework and no Redis."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HEAVY = {"agent_squad", "anthropic", "boto3", "botocore", "mcp", "redis", "strands"}

PROGRAM = """
import sys
import agent_plugins
for name in set(agent_plugins.__all__) - {"RedisCircuits"}:
    getattr(agent_plugins, name)
print(*sorted({name.partition('.')[0] for name in sys.modules}))
"""


def test_the_public_names_load_no_framework() -> None:
    loaded = subprocess.run([sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True)

    assert HEAVY.isdisjoint(loaded.stdout.split())
