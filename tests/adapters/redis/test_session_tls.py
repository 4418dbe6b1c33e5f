"""rediss:// speaks TLS, and only with a server whose certificate it trusts."""

import asyncio
import ssl
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server.adapters.redis.sessions import open_redis
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import CacheUnavailableError
from tests.engines.certificates import certificate_for
from tests.engines.servers import RedisServer
from tests.engines.tcp_proxy import TcpProxy
from tests.stores.sessions import AT_ONCE, EPOCH, PATIENCE, append, begin, listening, load_whole

pytestmark = pytest.mark.anyio


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    return certificate_for("127.0.0.1", tmp_path / "redis.pem")


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
        async with listening(memory.channel, scope) as changes:
            await asyncio.wait_for(anext(changes), 30)
            await memory.channel.announce(scope)
            await asyncio.wait_for(anext(changes), 30)
        copy = await load_whole(memory, scope)

        await memory.close()
    assert copy.count == 1


async def test_a_certificate_that_nobody_vouches_for_is_refused(
    shared_redis: RedisServer, certificate: Path, scope: Scope
) -> None:
    async with TcpProxy(shared_redis.port, tls=tls_with(certificate)) as proxy:
        memory = open_redis(f"rediss://127.0.0.1:{proxy.port}/0", deadline=PATIENCE, settling=AT_ONCE)

        with pytest.raises(CacheUnavailableError):
            await memory.cache.load(scope, epoch=EPOCH)

        await memory.close()


async def test_a_server_without_tls_is_unavailable(shared_redis: RedisServer, scope: Scope) -> None:
    memory = open_redis(f"rediss://127.0.0.1:{shared_redis.port}", deadline=timedelta(seconds=2))

    with pytest.raises(CacheUnavailableError):
        await memory.cache.load(scope, epoch=EPOCH)
    await memory.close()
