"""Verify the token of a request."""

import hmac
from collections.abc import Sequence
from typing import Protocol

from mcp_memory_server.server.access.principal import Principal

LONGEST_TOKEN = 16 * 1024


class Verifier(Protocol):
    """Knows which tokens are valid."""

    async def verify(self, token: str) -> Principal | None:
        """Return whose token it is, None if it is not valid.

        Raises:
            UnavailableError: It could not be verified now.
        """
        ...


class AnyVerifier:
    """Accepts a token that one of several verifiers accepts."""

    def __init__(self, verifiers: Sequence[Verifier]) -> None:
        self._verifiers = verifiers

    async def verify(self, token: str) -> Principal | None:
        """Ask each in turn."""
        if not 0 < len(token) <= LONGEST_TOKEN or not token.isascii():
            return None
        for verifier in self._verifiers:
            if (principal := await verifier.verify(token)) is not None:
                return principal
        return None


class OneToken:
    """Accepts a single token: that of this machine."""

    def __init__(self, token: str, principal: Principal) -> None:
        self._token = token
        self._principal = principal

    async def verify(self, token: str) -> Principal | None:
        """Compare the token without revealing by time how much of it is right."""
        return self._principal if hmac.compare_digest(token.encode(), self._token.encode()) else None
