"""Add this server to the configuration of MCP clients, and remove it."""
