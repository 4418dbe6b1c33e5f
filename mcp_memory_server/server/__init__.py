"""The MCP server: each request is parsed, passed to one service, and its value returned."""
