"""The token of this machine: the default over HTTP on loopback.

Every account of a machine can connect to its loopback addresses, also one that cannot read the file of the memory. The
token is in a file beside the memory, which only the owner can read. It outlives restarts, so that attached clients keep
working; deleting the file makes a new one at the next start.
"""

import contextlib
import secrets
import sys
from pathlib import Path

from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.server.access.token_file import write_for_owner

FILE_NAME = "http-token"
SHORTEST = 32


def machine_token(folder: Path) -> str:
    """Return the token, making it if there is none.

    Raises:
        ConfigurationError: Others can read the file, or it cannot be written.
    """
    file = folder / FILE_NAME
    try:
        if (token := read_machine_token(folder)) is not None:
            return token
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        token = secrets.token_urlsafe(32)
        write_for_owner(file, token + "\n")
    except OSError as error:
        raise ConfigurationError(f"cannot write the token {str(file)!r}: {error.strerror}") from error
    return token


def read_machine_token(folder: Path) -> str | None:
    """Return the token if there is one.

    Raises:
        ConfigurationError: Others can read the file.
    """
    file = folder / FILE_NAME
    with contextlib.suppress(FileNotFoundError):
        if sys.platform != "win32" and file.stat().st_mode & 0o077:
            raise ConfigurationError(f"{str(file)!r} must be accessible to its owner only: chmod 600, or delete it")
        token = file.read_text(encoding="utf-8").strip()
        return token if len(token) >= SHORTEST else None
    return None
