"""The official conformance suite of MCP against this server: `make conformance`."""
