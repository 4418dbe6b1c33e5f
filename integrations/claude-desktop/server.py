"""Start the memory server of the bundle, with the settings that the person chose in Claude Desktop."""

import os
import sys
from pathlib import Path

from mcp_memory_server.cli import main

file, user = os.environ.pop("MEMORY_FILE", "").strip(), os.environ.pop("MEMORY_USER", "").strip()
if file and not file.startswith("${"):  # a setting that was left out may arrive as its placeholder
    os.environ["MCP_MEMORY_TABLE"] = f"sqlite://{Path(file).expanduser().absolute()}"
if user and not user.startswith("${"):
    os.environ["MCP_MEMORY_USER"] = user
sys.exit(main([]))
