"""What is said when a package is missing that only some need."""

from mcp_memory_server.errors import ConfigurationError


def missing_package(extra: str, error: ModuleNotFoundError) -> ConfigurationError:
    """Return the error that says what to install."""
    package = (error.name or extra).partition(".")[0]
    return ConfigurationError(f"{package} is not installed; install it with: pip install 'mcp-agent-memory[{extra}]'")
