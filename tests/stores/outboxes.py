"""Where an outbox and dead letters lie: values from which several processes open the same ones."""

import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import boto3

from mcp_memory_server.adapters.redis.address import connector, redis_address
from mcp_memory_server.adapters.redis.keys import BUCKETS, outbox_keys
from mcp_memory_server.adapters.redis.outbox import open_redis_outbox
from mcp_memory_server.adapters.sqlite.dead_letters import SqliteDeadLetters
from mcp_memory_server.adapters.sqlite.outbox import SqliteOutbox
from mcp_memory_server.adapters.sqs.dead_letters import open_sqs
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.ulids import ulid_after
from mcp_memory_server.domain.sessions.queued_turns import ClaimedTurn, DeadLetter, QueuedTurn
from mcp_memory_server.domain.sessions.turns import Role, Turn
from mcp_memory_server.ports.dead_letters import DeadLetters
from mcp_memory_server.ports.outbox import Outbox
from tests.clock import FakeClock
from tests.stores.tables import Now

PATIENCE = timedelta(seconds=30)
"""The engines share two cores with the tests: the deadline of the product is tested elsewhere."""
LEASE = timedelta(seconds=30)
PLENTY = 1000
ANA = Scope("ana", "session")
BEN = Scope("ben", "session")
NOW = FakeClock()()

HOSTILE_IDS = ("a#b", "a:b", "a/b", "a\nb", "a\0b", "a'; --", "%_*", "{a}", "😀" * 30, " a", "A", "a", "ä", "a\u0308")


class OutboxStore(Protocol):
    def open(self, now: Now) -> Outbox: ...


class LetterStore(Protocol):
    def open(self, now: Now) -> DeadLetters: ...


@dataclass(frozen=True)
class SqliteOutboxStore:
    path: Path

    def open(self, now: Now) -> Outbox:
        return SqliteOutbox(self.path, now=now, deadline=PATIENCE)


@dataclass(frozen=True)
class RedisOutboxStore:
    url: str

    def open(self, now: Now) -> Outbox:
        return open_redis_outbox(self.url, deadline=PATIENCE, now=now)

    def empty(self) -> None:
        """Take away what other tests left; they share the server."""
        address = redis_address(self.url)
        with closing(connector(address, PATIENCE, most_at_once=1)()) as client:
            for bucket in range(BUCKETS):
                client.delete(*outbox_keys(bucket))


@dataclass(frozen=True)
class SqliteLetterStore:
    path: Path

    def open(self, now: Now) -> DeadLetters:
        return SqliteDeadLetters(self.path, now=now, deadline=PATIENCE)


@dataclass(frozen=True)
class SqsLetterStore:
    endpoint: str
    queue: str

    def open(self, now: Now) -> DeadLetters:  # noqa: ARG002
        return open_sqs(self.queue, endpoint=self.endpoint, deadline=PATIENCE)


@contextmanager
def sqs_queue(endpoint: str, **attributes: str) -> Iterator[SqsLetterStore]:
    """Make a queue that no other test knows."""
    name = f"letters-{uuid.uuid4().hex}"
    with closing(sqs_client(endpoint)) as client:
        url = client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]
        yield SqsLetterStore(endpoint, name)
        client.delete_queue(QueueUrl=url)


def sqs_client(endpoint: str) -> Any:
    return boto3.client("sqs", endpoint_url=endpoint)


def queued(
    content: str = "hello", scope: Scope = ANA, *, operation: str | None = None, at: datetime = NOW
) -> QueuedTurn:
    turn = Turn(ulid_after(None, at), Role.USER, content, agent="clerk", tool_calls=({"name": "look"},), token_count=3)
    return QueuedTurn(scope, turn, operation or uuid.uuid4().hex, at)


def letter(content: str = "hello", scope: Scope = ANA) -> DeadLetter:
    return DeadLetter(queued(content, scope), "TooLargeError: over the limit", NOW + timedelta(minutes=3))


async def add_all(outbox: Outbox, scope: Scope, *contents: str) -> list[QueuedTurn]:
    turns = [queued(content, scope) for content in contents]
    for turn in turns:
        await outbox.add(turn)
    return turns


async def claim(outbox: Outbox, owner: str, *, most: int = PLENTY, lease: timedelta = LEASE) -> Sequence[ClaimedTurn]:
    return await outbox.claim(owner, lease=lease, most=most)


def said(claimed: Sequence[ClaimedTurn]) -> list[str]:
    return [one.queued.turn.content for one in claimed]


def receipts(claimed: Sequence[ClaimedTurn]) -> list[str]:
    return [one.receipt for one in claimed]
