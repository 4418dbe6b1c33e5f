"""The keys of an issuer: cached, rotated, and used for a while when the issuer is silent."""

import json
from typing import Any

import pytest

from mcp_memory_server import UnavailableError
from mcp_memory_server.server.access.issuer_keys import (
    FRESH_SECONDS,
    RETRY_SECONDS,
    USABLE_SECONDS,
    IssuerKeys,
    signing_keys,
)
from mcp_memory_server.server.access.jwt_verifier import JwtVerifier
from tests.server.issuing import AUDIENCE, Issuer, Key

pytestmark = pytest.mark.anyio


class Seconds:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def seconds() -> Seconds:
    return Seconds()


@pytest.fixture
def issuer() -> Issuer:
    return Issuer("https://login.example/realm")


@pytest.fixture
def verifier(issuer: Issuer, seconds: Seconds) -> JwtVerifier:
    return JwtVerifier(
        issuer.address, AUDIENCE, IssuerKeys(issuer.address, None, fetch=issuer.fetch, monotonic=seconds)
    )


async def test_the_metadata_of_the_issuer_leads_to_its_keys_which_are_fetched_once(
    issuer: Issuer, verifier: JwtVerifier
) -> None:
    assert [await verifier.verify(issuer.token(f"user {number}")) for number in range(10)].count(None) == 0
    assert issuer.asked == [
        "https://login.example/realm/.well-known/openid-configuration",
        "https://login.example/realm/.well-known/oauth-authorization-server",
        "https://login.example/realm/keys",
    ]


async def test_a_token_with_a_new_key_is_accepted_and_an_invented_key_does_not_flood_the_issuer(
    issuer: Issuer, verifier: JwtVerifier, seconds: Seconds
) -> None:
    await verifier.verify(issuer.token())
    seconds.now += RETRY_SECONDS
    issuer.keys.append(Key("second"))

    assert await verifier.verify(issuer.token()) is not None
    asked = len(issuer.asked)
    assert [await verifier.verify(issuer.token(key=Key(f"invented {number}"))) for number in range(50)] == [None] * 50
    assert len(issuer.asked) == asked


async def test_a_key_that_the_issuer_withdrew_is_refused_when_the_keys_are_fetched_again(
    issuer: Issuer, verifier: JwtVerifier, seconds: Seconds
) -> None:
    old = issuer.token()
    assert await verifier.verify(old) is not None
    issuer.keys = [Key("second")]
    seconds.now += FRESH_SECONDS + 1

    assert await verifier.verify(old) is None


async def test_while_the_issuer_is_silent_its_keys_are_used_for_an_hour_and_then_nothing_is_decided(
    issuer: Issuer, verifier: JwtVerifier, seconds: Seconds, monkeypatch: pytest.MonkeyPatch
) -> None:
    await verifier.verify(issuer.token())

    async def silent(_address: str) -> bytes:
        raise OSError("no answer")

    monkeypatch.setattr(verifier._keys, "_fetch", silent)
    seconds.now += FRESH_SECONDS + 1
    assert await verifier.verify(issuer.token()) is not None
    seconds.now = USABLE_SECONDS + 1
    with pytest.raises(UnavailableError):
        await verifier.verify(issuer.token())


def test_shared_secrets_and_keys_for_encryption_never_verify_a_signature() -> None:
    keys = [
        {"kty": "oct", "kid": "secret", "k": "c2VjcmV0"},
        {**Key("x").public(), "use": "enc", "kid": "encryption"},
        {"kty": "EC", "kid": "broken"},
        "no key",
        {**Key("x").public(), "kid": "right"},
    ]

    assert list(signing_keys(json.dumps({"keys": keys}).encode())) == ["right"]


async def test_a_key_is_used_with_no_other_algorithm_than_its_own(issuer: Issuer, seconds: Seconds) -> None:
    async def fetch(_address: str) -> bytes:
        return json.dumps({"keys": [{**issuer.keys[0].public(), "alg": "ES384"}]}).encode()

    keys = IssuerKeys(issuer.address, f"{issuer.address}/keys", fetch=fetch, monotonic=seconds)

    assert await JwtVerifier(issuer.address, AUDIENCE, keys).verify(issuer.token()) is None


@pytest.mark.parametrize(
    ("claims", "permitted"),
    [
        ({"scope": "openid memory:read email"}, ["memory:read"]),
        ({"scope": None, "scp": ["memory:read", "memory:write"]}, ["memory:read", "memory:write"]),
        ({"scope": None, "scp": "memory:forget"}, ["memory:forget"]),
        ({"scope": None}, []),
        ({"scope": "memory:everything MEMORY:READ"}, []),
    ],
)
async def test_only_known_scopes_permit_anything(
    issuer: Issuer, verifier: JwtVerifier, claims: dict[str, Any], permitted: list[str]
) -> None:
    principal = await verifier.verify(issuer.token(**claims))

    assert principal is not None
    assert sorted(principal.permissions) == permitted
