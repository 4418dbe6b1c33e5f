"""rediss:// speaks TLS, and only with a server whose certificate it trusts."""

import asyncio
import ipaddress
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mcp_memory_server.adapters.redis.session_memory import open_redis
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.errors import CacheUnavailableError
from tests.contract.session_stores import AT_ONCE, EPOCH, PATIENCE, append, begin, served, watching
from tests.engines.servers import RedisServer
from tests.engines.tcp_proxy import TcpProxy

pytestmark = pytest.mark.anyio


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    """A certificate for 127.0.0.1, signed by itself, with its key in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "redis.pem"
    plain = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(plain + made.public_bytes(serialization.Encoding.PEM))
    return path


def tls_with(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_sessions_and_news_go_through_tls(shared_redis: RedisServer, certificate: Path, scope: Scope) -> None:
    async with TcpProxy(shared_redis.port, tls=tls_with(certificate)) as proxy:
        memory = open_redis(
            f"rediss://127.0.0.1:{proxy.port}/0?ssl_ca_certs={certificate}", deadline=PATIENCE, settling=AT_ONCE
        )

        await begin(memory, scope)
        await append(memory, scope)
        await memory.write_state(scope, "x", expected_version=0)
        async with watching(memory, scope) as versions:
            version = await asyncio.wait_for(anext(versions), 30)
        copy = await served(memory, scope)

        await memory.close()
    assert version == 1
    assert copy.count == 1


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    shared_redis: RedisServer, certificate: Path, scope: Scope
) -> None:
    async with TcpProxy(shared_redis.port, tls=tls_with(certificate)) as proxy:
        memory = open_redis(f"rediss://127.0.0.1:{proxy.port}/0", deadline=PATIENCE, settling=AT_ONCE)

        with pytest.raises(CacheUnavailableError):
            await memory.load(scope, epoch=EPOCH)

        await memory.close()


async def test_a_server_without_tls_is_unavailable(shared_redis: RedisServer, scope: Scope) -> None:
    memory = open_redis(f"rediss://127.0.0.1:{shared_redis.port}", deadline=timedelta(seconds=2))

    with pytest.raises(CacheUnavailableError):
        await memory.load(scope, epoch=EPOCH)
    await memory.close()
