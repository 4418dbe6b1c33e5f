"""Choosing where audit lines go."""

import os
import sys
from collections.abc import Callable

from mcp_memory_server.errors import ConfigurationError


def open_audit(place: str) -> Callable[[str], None]:
    """Return what writes a line to standard error, or to the end of a file that only its owner can read.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    if place == "stderr":
        return lambda line: _print(f"{line}\n")

    def append(line: str) -> None:
        # Opened for every line, so that it may be rotated; one write, so that processes can share it.
        file = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(file, f"{line}\n".encode())
        finally:
            os.close(file)

    try:
        os.close(os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise ConfigurationError(f"MCP_MEMORY_AUDIT: cannot write {place!r}: {error.strerror}") from error
    return append


def _print(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()
