"""A turn that the table refuses for good becomes a dead letter, holds up no other, and can be redriven once."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from mcp_memory_server import Settings, open_memory
from tests.cli.commands import Done, run_apart
from tests.engines.http_proxy import Asked, Fate, HttpProxy, always
from tests.faults.conversations import CHAT, Account, dynamodb_url, environment_of, settings, until_delivered
from tests.stores.outboxes import sqs_queue
from tests.stores.tables import DynamoDbAddress

pytestmark = pytest.mark.anyio

POISON = b"turn 3"


@pytest.fixture(params=["sqlite", "sqs"])
def dead_letters(request: pytest.FixtureRequest) -> Iterator[str]:
    """Where the dead letters go."""
    if request.param == "sqlite":
        yield "sqlite:"
        return
    with sqs_queue(request.getfixturevalue("moto_endpoint")) as queue:
        yield f"sqs://{queue.queue}?region=eu-central-1&endpoint={quote(queue.endpoint, safe='')}"


def refuses_the_poison(asked: Asked) -> Fate:
    is_write = asked.operation in ("PutItem", "TransactWriteItems")
    return Fate.IS_INVALID if is_write and POISON in asked.body else Fate.PASSES


async def test_a_poisonous_turn_is_buried_with_its_reason_and_redriven_once(
    dynamodb_table: DynamoDbAddress, tmp_path: Path, dead_letters: str
) -> None:
    account = Account()
    async with HttpProxy(dynamodb_table.endpoint) as proxy:
        chosen = settings(
            tmp_path,
            table=dynamodb_url(dynamodb_table.table, proxy.endpoint),
            acknowledge="outbox",
            dead_letters=dead_letters,
        )
        proxy.decide(refuses_the_poison)
        async with open_memory(chosen) as memory:
            for number in range(8):
                await account.append(memory, CHAT, f"turn {number}")
            await until_delivered(memory)
            stored = [turn.content for turn in (await memory.conversations.load(CHAT)).turns]
            (letter,) = await memory.redrive.letters(most=10)
    assert stored == [f"turn {number}" for number in range(8) if number != 3]
    assert letter.queued.turn.content == "turn 3"
    assert "InvalidRequestError" in letter.reason

    direct = settings(
        tmp_path,
        table=dynamodb_url(dynamodb_table.table, dynamodb_table.endpoint),
        acknowledge="outbox",
        dead_letters=dead_letters,
    )
    listed = redrive(direct, "--list")
    first, second = redrive(direct), redrive(direct)
    emptied = redrive(direct, "--list")

    async with open_memory(direct) as memory:
        await account.settle(memory, redriven=first.json["delivered"])
    assert [one["turn"] for one in listed.json["letters"]] == [letter.queued.turn.id]
    assert "turn 3" not in listed.out
    assert [done.json["delivered"] for done in (first, second)] == [1, 0]
    assert [done.code for done in (listed, first, second, emptied)] == [0, 0, 0, 0]
    assert emptied.json == {"count": 0, "letters": []}


async def test_a_letter_that_is_refused_once_more_stays_among_the_dead(
    dynamodb_table: DynamoDbAddress, tmp_path: Path
) -> None:
    account = Account()
    async with HttpProxy(dynamodb_table.endpoint) as proxy:
        chosen = settings(tmp_path, table=dynamodb_url(dynamodb_table.table, proxy.endpoint), acknowledge="outbox")
        proxy.decide(refuses_the_poison)
        async with open_memory(chosen) as memory:
            for number in range(5):
                await account.append(memory, CHAT, f"turn {number}")
            await until_delivered(memory)

            refused = await memory.redrive.replay()
            kept = await memory.redrive.count()
            proxy.decide(always(Fate.PASSES))
            redriven = await memory.redrive.replay()
            await account.settle(memory)

    assert (refused.delivered, len(refused.refused), kept) == (0, 1, 1)
    assert (redriven.delivered, redriven.refused) == (1, ())


def redrive(chosen: Settings, *options: str) -> Done:
    """Run the command as an operator does, in a process of its own."""
    own: dict[str, Any] = environment_of(chosen)
    return run_apart("redrive", "--json", *options, **own)
