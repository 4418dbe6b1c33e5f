"""The public keys of an issuer, fetched from its JWKS address and cached.

They are fetched again when they are old, or when a token names a key that is not among them (the issuer rotates its
keys), but not more often than every few seconds: a token with an invented key must not make requests. When the issuer
does not answer, keys are used for a while longer; without any, a token cannot be verified, which is not a refusal.
"""

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any, cast

from jwt import PyJWK, PyJWTError

from mcp_memory_server.errors import UnavailableError

FRESH_SECONDS = 600.0
USABLE_SECONDS = 3600.0
"""For how long keys are used while the issuer does not answer: a key that it withdrew is valid for so long."""
RETRY_SECONDS = 15.0
FETCH_SECONDS = 5.0
LARGEST_DOCUMENT = 1024 * 1024
_WELL_KNOWN = (".well-known/openid-configuration", ".well-known/oauth-authorization-server")

Fetch = Callable[[str], Awaitable[bytes]]

logger = logging.getLogger(__name__)


class IssuerKeys:
    """The keys with which an issuer signs. Without a JWKS address, the issuer's metadata names it."""

    def __init__(
        self,
        issuer: str,
        jwks: str | None,
        *,
        fetch: "Fetch | None" = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._issuer = issuer
        self._jwks = jwks
        self._fetch = fetch or fetch_document
        self._monotonic = monotonic
        self._lock = asyncio.Lock()
        self._keys: dict[str | None, PyJWK] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None

    async def find(self, key_id: str | None) -> PyJWK | None:
        """Return the key of this id; without an id, the only key that there is.

        Raises:
            UnavailableError: The issuer does not answer, and no usable keys are cached.
        """
        if self._age() > FRESH_SECONDS or self._lookup(key_id) is None:
            async with self._lock:
                if self._age() > FRESH_SECONDS or self._lookup(key_id) is None:
                    await self._refresh()
        if self._age() > USABLE_SECONDS:
            raise UnavailableError("the token's issuer does not answer, so the token cannot be verified")
        return self._lookup(key_id)

    def _age(self) -> float:
        return float("inf") if self._fetched_at is None else self._monotonic() - self._fetched_at

    def _lookup(self, key_id: str | None) -> PyJWK | None:
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(key_id)

    async def _refresh(self) -> None:
        now = self._monotonic()
        if self._tried_at is not None and now - self._tried_at < RETRY_SECONDS:
            return
        self._tried_at = now
        try:
            self._keys = signing_keys(await self._fetch(self._jwks or await self._discovered()))
            self._fetched_at = self._monotonic()
        except (OSError, ValueError, TimeoutError) as error:
            logger.warning("cannot fetch the keys of %s: %s", self._issuer, type(error).__name__)

    async def _discovered(self) -> str:
        """Return the JWKS address from the issuer's metadata, which must name the same issuer."""
        for path in _WELL_KNOWN:
            try:
                found = json.loads(await self._fetch(f"{self._issuer.rstrip('/')}/{path}"))
            except (OSError, ValueError):
                continue
            if isinstance(found, dict):
                metadata = cast("dict[str, Any]", found)
                if metadata.get("issuer") == self._issuer and isinstance(metadata.get("jwks_uri"), str):
                    return metadata["jwks_uri"]
        raise ValueError("the issuer has no metadata with a jwks_uri")


def signing_keys(document: bytes) -> dict[str | None, PyJWK]:
    """Return the public keys for signatures of a JWKS document. Keys of unknown kinds are left out.

    Raises:
        ValueError: It is not such a document.
    """
    decoded: object = json.loads(document)
    listed: object = cast("dict[str, Any]", decoded).get("keys") if isinstance(decoded, dict) else None
    if not isinstance(listed, list):
        raise ValueError("not a JWKS document")  # noqa: TRY004 - wrong data, not a wrong program
    keys: dict[str | None, PyJWK] = {}
    for entry in cast("list[object]", listed):
        if not isinstance(entry, dict):
            continue
        key = cast("dict[str, Any]", entry)
        # A shared secret ("oct") must never verify what a public key is for.
        if key.get("kty") not in ("RSA", "EC", "OKP") or key.get("use", "sig") != "sig":
            continue
        try:
            keys[key.get("kid")] = PyJWK(key)
        except (PyJWTError, ValueError, KeyError, TypeError):
            continue
    return keys


async def fetch_document(address: str) -> bytes:
    """Return what is at the address. Redirects are not followed.

    Raises:
        OSError: It does not answer, or not with such a document.
    """
    import httpx2  # the SDK's own HTTP client

    try:
        async with (
            asyncio.timeout(FETCH_SECONDS),
            httpx2.AsyncClient(timeout=FETCH_SECONDS) as client,
            client.stream("GET", address, headers={"Accept": "application/json"}) as answer,
        ):
            if answer.status_code != 200:
                raise OSError(f"status {answer.status_code}")
            body = bytearray()
            async for part in answer.aiter_bytes():
                body += part
                if len(body) > LARGEST_DOCUMENT:
                    raise OSError("the document is too large")
            return bytes(body)
    except httpx2.HTTPError as error:
        raise OSError(type(error).__name__) from error
