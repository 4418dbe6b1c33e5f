"""Where conversations are measured: a Redis and a DynamoDB Local of this machine, with fresh tables."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from mcp_memory_server import Settings
from mcp_memory_server.wiring import create_table
from tests.engines.servers import RedisServer, dynamodb_local, redis_server

REGION = "eu-central-1"
USER = "bench"

# No account of this machine is used, and nobody is asked for one.
NO_ACCOUNT = {
    "AWS_ACCESS_KEY_ID": "measured",
    "AWS_SECRET_ACCESS_KEY": "measured",
    "AWS_DEFAULT_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "NO_PROXY": "127.0.0.1,localhost",
}


@dataclass(frozen=True)
class Stage:
    """The engines, for as long as they run."""

    folder: Path
    redis: RedisServer
    endpoint: str

    async def fresh(self) -> Settings:
        """Make a table, and return the settings of a memory on it: sessions in Redis, an outbox of its own."""
        name = f"bench-{uuid.uuid4().hex}"
        settings = Settings(
            table=f"dynamodb://{name}?region={REGION}&endpoint={quote(self.endpoint, safe='')}",
            sessions=self.redis.url,
            outbox=f"sqlite://{self.folder / name}.outbox",
            user=USER,
        )
        await create_table(settings, lambda _: None)
        return settings


@contextmanager
def on_stage(folder: Path) -> Iterator[Stage]:
    os.environ.update(NO_ACCOUNT)
    with redis_server(folder) as redis, dynamodb_local(folder / "dynamodb.log") as endpoint:
        yield Stage(folder, redis, endpoint)
