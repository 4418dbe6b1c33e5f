"""Tokens of an OAuth issuer: JSON Web Tokens that it signed for this server.

The audience is verified here: the SDK's setting for it is ignored by some of its versions, and then a token for any
other service of the issuer is accepted.
"""

from typing import Any, cast

import jwt

from mcp_memory_server.server.access.issuer_keys import IssuerKeys
from mcp_memory_server.server.access.principal import Principal, granted

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Signatures with a public key only: no shared secrets, and never ``none``."""

CLOCK_SKEW_SECONDS = 30


class JwtVerifier:
    """Accepts the tokens of one issuer for one audience."""

    def __init__(self, issuer: str, audience: str, keys: IssuerKeys) -> None:
        self._issuer = issuer
        self._audience = audience
        self._keys = keys

    async def verify(self, token: str) -> Principal | None:
        """Check issuer, algorithm, key, signature, times and audience."""
        if token.count(".") != 2:
            return None
        try:
            header = jwt.get_unverified_header(token)
            algorithm, key_id = header.get("alg"), header.get("kid")
            if algorithm not in ALGORITHMS or self._stated_issuer(token) != self._issuer:
                return None
            key = await self._keys.find(key_id)
            if key is None or _algorithm_of(key) not in (None, algorithm):
                return None
            claims: dict[str, Any] = jwt.decode(
                token,
                key.key,
                algorithms=[algorithm],
                audience=self._audience,
                issuer=self._issuer,
                leeway=CLOCK_SKEW_SECONDS,
                options={"require": ["exp", "iss", "sub", "aud"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, KeyError):
            return None
        subject = claims["sub"]
        if not isinstance(subject, str) or not subject.strip():
            return None
        return Principal(subject, granted(_scopes(claims)), self._issuer)

    def _stated_issuer(self, token: str) -> object:
        """Return whom the token names, unverified, so that keys are only looked up for the tokens of this issuer."""
        claims: dict[str, Any] = jwt.decode(token, options={"verify_signature": False})
        return claims.get("iss")


def _algorithm_of(key: jwt.PyJWK) -> str | None:
    """Return the algorithm that the issuer limits the key to, if it does."""
    stated = key._jwk_data.get("alg")  # pyright: ignore[reportPrivateUsage] - the public property guesses one
    return stated if isinstance(stated, str) else None


def _scopes(claims: dict[str, Any]) -> str:
    """Return the scopes: `scope` by RFC 9068, `scp` (a text or a list) as some issuers write them."""
    stated = claims.get("scope", claims.get("scp", ""))
    return " ".join(map(str, cast("list[object]", stated))) if isinstance(stated, list) else str(stated)
