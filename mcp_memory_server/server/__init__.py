"""The MCP layer: parse, call one service, return its value."""
