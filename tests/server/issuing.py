"""An OAuth issuer on this machine: keys, tokens, and the addresses where a resource server finds the keys."""

import base64
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm

AUDIENCE = "https://memory.example/mcp"
OWN_MEMORY = "memory:read memory:write memory:forget"


@dataclass
class Key:
    """A key pair of an issuer."""

    id: str

    @cached_property
    def private(self) -> ec.EllipticCurvePrivateKey:
        return ec.generate_private_key(ec.SECP256R1())

    def public(self) -> dict[str, Any]:
        return {**ECAlgorithm.to_jwk(self.private.public_key(), as_dict=True), "kid": self.id, "use": "sig"}


@dataclass
class Issuer:
    """Signs tokens with its newest key."""

    address: str
    keys: list[Key] = field(default_factory=lambda: [Key("first")])
    asked: list[str] = field(default_factory=list[str])

    def token(self, subject: str = "ana", *, key: Key | None = None, algorithm: str = "ES256", **claims: Any) -> str:
        """Return a token that is right in everything but the given claims. None leaves a claim out."""
        key = key or self.keys[-1]
        stated = {"iss": self.address, "sub": subject, "aud": AUDIENCE, "exp": time.time() + 600, "scope": OWN_MEMORY}
        payload = {name: value for name, value in (stated | claims).items() if value is not None}
        if algorithm == "none":
            return f"{_encoded({'alg': 'none', 'kid': key.id})}.{_encoded(payload)}."
        return jwt.encode(payload, key.private, algorithm, headers={"kid": key.id})

    def jwks(self) -> bytes:
        return json.dumps({"keys": [key.public() for key in self.keys]}).encode()

    async def fetch(self, address: str) -> bytes:
        """Answer for its two addresses, as the network would."""
        self.asked.append(address)
        if address.endswith("/keys"):
            return self.jwks()
        if address.endswith("/.well-known/oauth-authorization-server"):
            return json.dumps({"issuer": self.address, "jwks_uri": f"{self.address}/keys"}).encode()
        raise OSError("status 404")


@contextmanager
def issuer_on_this_machine() -> Iterator[Issuer]:
    """Serve the keys of an issuer at its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path == "/keys"
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(issuer.jwks() if found else b"")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer = Issuer(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield issuer
        server.shutdown()


def _encoded(value: dict[str, Any]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()
