"""What every test may rely on: no real account, no real memory, and real engines."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from mcp_memory_server.adapters.tiktoken.token_counter import load_exact
from tests.clock import FakeClock
from tests.dax_server.running import DaxCluster, dax_cluster
from tests.engines.install import EngineMissingError
from tests.engines.servers import RedisServer, dynamodb_local, moto_server, redis_cluster, redis_server

pytest_plugins = ("tests.stores.fixtures",)

E = TypeVar("E")

DUMMY_AWS = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
}
HOME_VARIABLES = (
    "HOME",
    "USERPROFILE",
    "APPDATA",
    "LOCALAPPDATA",
    "XDG_DATA_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
)


@pytest.fixture(scope="session", autouse=True)
def _a_home_of_its_own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the user's account, settings and memories out of the tests, and out of every process they start."""
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as environment:
        for name in os.environ:
            if name.startswith(("AWS_", "MCP_MEMORY_")):
                environment.delenv(name)
        for name in HOME_VARIABLES:
            environment.setenv(name, str(home))
        for name, value in DUMMY_AWS.items():
            environment.setenv(name, value)
        environment.setenv("NO_PROXY", "127.0.0.1,localhost")
        yield


@pytest.fixture(scope="session", autouse=True)
def _exact_token_counts() -> None:
    """Count exactly from the first test on, not only after the moment that a process takes its time for."""
    load_exact()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(scope="session")
def dynamodb_local_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with _or_skipped(dynamodb_local, tmp_path_factory.mktemp("dynamodb-local") / "log") as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def moto_endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with _or_skipped(moto_server, tmp_path_factory.mktemp("moto") / "log") as endpoint:
        yield endpoint


@pytest.fixture(scope="session")
def shared_dax(dynamodb_local_endpoint: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaxCluster]:
    """Two nodes over DynamoDB Local that know at once what the other one learned."""
    with dax_cluster(dynamodb_local_endpoint, tmp_path_factory.mktemp("dax") / "log", "--nodes", "2") as cluster:
        yield cluster


@pytest.fixture
def own_dax(dynamodb_local_endpoint: str, tmp_path: Path) -> Iterator[DaxCluster]:
    """Two nodes that this test may stop."""
    with dax_cluster(dynamodb_local_endpoint, tmp_path / "dax.log", "--nodes", "2") as cluster:
        yield cluster


@pytest.fixture(scope="session")
def shared_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with _or_skipped(redis_server, tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture
def own_redis(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis that this test may kill."""
    with _or_skipped(redis_server, tmp_path) as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with _or_skipped(redis_cluster, tmp_path_factory.mktemp("redis-cluster")) as url:
        yield url


@contextmanager
def _or_skipped(engine: Callable[[Path], AbstractContextManager[E]], log: Path) -> Iterator[E]:
    """Run the engine. A missing one is a skip on a laptop, and a failure in CI."""
    try:
        running = engine(log)
        endpoint = running.__enter__()
    except EngineMissingError as missing:
        if os.environ.get("CI"):
            pytest.fail(f"{missing}. CI runs every test", pytrace=False)
        pytest.skip(str(missing))
    try:
        yield endpoint
    finally:
        running.__exit__(None, None, None)
