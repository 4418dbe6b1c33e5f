"""The error for a missing optional package."""

from mcp_memory_server.errors import ConfigurationError


def missing_package(extra: str, error: ModuleNotFoundError) -> ConfigurationError:
    """Return an error with the command that installs the package."""
    package = (error.name or extra).partition(".")[0]
    return ConfigurationError(f"{package} is not installed; install it with: pip install 'mcp-agent-memory[{extra}]'")
