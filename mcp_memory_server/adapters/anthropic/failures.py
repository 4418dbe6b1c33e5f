"""Maps errors of Anthropic's client to ours. No message holds sent data."""

import anthropic

from mcp_memory_server.errors import ConfigurationError, MemoryServerError, ModelBusyError, ModelUnavailableError

_NOT_BEGUN = frozenset({408, 409, 429, 500, 502, 503, 529})
_WRONG_KEY = frozenset({401, 403})


def translated(error: Exception, name: str) -> MemoryServerError:
    """Return our error for one of the client."""
    if isinstance(error, anthropic.APITimeoutError):
        return ModelUnavailableError(f"{name} did not answer in time")
    if isinstance(error, anthropic.APIConnectionError):
        return ModelBusyError(f"{name} could not be reached")
    if isinstance(error, anthropic.APIStatusError):
        return _refused(error.status_code, name)
    if isinstance(error, TypeError | anthropic.CredentialsError):
        return ConfigurationError(f"there is no key for {name}; set ANTHROPIC_API_KEY")
    return ModelUnavailableError(f"{name} returned an unreadable reply")


def _refused(status: int, name: str) -> MemoryServerError:
    if status in _NOT_BEGUN:
        return ModelBusyError(f"{name} refused for now (HTTP {status})")
    if status in _WRONG_KEY:
        return ConfigurationError(f"{name} does not accept the key (HTTP {status}); check ANTHROPIC_API_KEY")
    return ConfigurationError(
        f"{name} rejects this kind of request (HTTP {status}); check the name in MCP_MEMORY_SUMMARIZER"
    )
