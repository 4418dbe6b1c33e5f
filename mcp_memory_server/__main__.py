"""The command ``mcp-memory-server``, also as ``python -m mcp_memory_server``."""

import sys

from mcp_memory_server.cli import main

if __name__ == "__main__":
    sys.exit(main())
