"""Two processes sum up sessions and are killed at random moments: each session has one summary, made once."""

import random
from dataclasses import replace
from pathlib import Path

import pytest

from tests.engines.servers import RedisServer
from tests.faults.conversations import dynamodb_url, settings
from tests.faults.enders import Outcome, run_and_kill, say
from tests.stores.tables import DynamoDbAddress

pytestmark = pytest.mark.anyio


def is_exact(outcome: Outcome, count: int) -> bool:
    say(outcome)
    return replace(outcome, seed=0, kills=0) == Outcome(0, count, 0, count, 0, 0, 0)


async def test_killing_either_of_two_loses_no_session_and_finishes_none_twice(tmp_path: Path) -> None:
    outcome = await run_and_kill(settings(tmp_path), 80, random.randrange(2**32))

    assert outcome.kills > 0
    assert is_exact(outcome, 80)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(20))
async def test_500_sessions_survive_every_kill(tmp_path: Path, number: int) -> None:
    outcome = await run_and_kill(settings(tmp_path), 500, random.randrange(2**32))

    assert outcome.kills > 0
    assert is_exact(outcome, 500)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
async def test_500_sessions_survive_every_kill_on_dynamodb_and_redis(
    tmp_path: Path, dynamodb_table: DynamoDbAddress, shared_redis: RedisServer, number: int
) -> None:
    shared = settings(
        tmp_path, table=dynamodb_url(dynamodb_table.table, dynamodb_table.endpoint), sessions=shared_redis.url
    )

    outcome = await run_and_kill(shared, 500, random.randrange(2**32))

    assert is_exact(outcome, 500)
