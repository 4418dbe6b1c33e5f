"""What is true of SQS only: its limits, strangers in the queue, and what its errors become."""

import json
import logging
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, NoCredentialsError

from mcp_memory_server.adapters.sqs import dead_letters as sqs
from mcp_memory_server.adapters.sqs.address import QueueAddress
from mcp_memory_server.adapters.sqs.calls import Calls
from mcp_memory_server.adapters.sqs.dead_letters import MAX_MESSAGE_BYTES, SqsDeadLetters, open_sqs
from mcp_memory_server.adapters.sqs.letters import KIND
from mcp_memory_server.errors import ConfigurationError, MemoryServerError, TooLargeError, UnavailableError
from tests.stores.outboxes import ANA, BEN, PATIENCE, SqsLetterStore, letter, sqs_client, sqs_queue

pytestmark = pytest.mark.anyio

SHORT = timedelta(milliseconds=500)


@pytest.fixture
def queue(moto_endpoint: str) -> Iterator[SqsLetterStore]:
    with sqs_queue(moto_endpoint) as queue:
        yield queue


@pytest.fixture
async def letters(queue: SqsLetterStore) -> AsyncIterator[SqsDeadLetters]:
    letters = open_sqs(queue.queue, endpoint=queue.endpoint, deadline=PATIENCE)
    yield letters
    await letters.close()


def send(queue: SqsLetterStore, body: str) -> None:
    with closing(sqs_client(queue.endpoint)) as client:
        client.send_message(QueueUrl=client.get_queue_url(QueueName=queue.queue)["QueueUrl"], MessageBody=body)


async def test_a_letter_over_the_limit_of_a_message_is_refused(letters: SqsDeadLetters) -> None:
    with pytest.raises(TooLargeError, match=f"{MAX_MESSAGE_BYTES:,}"):
        await letters.add(letter(os.urandom(MAX_MESSAGE_BYTES).hex()))

    assert await letters.count() == 0


async def test_a_long_letter_that_shrinks_below_the_limit_is_taken(letters: SqsDeadLetters) -> None:
    await letters.add(letter("again and " * 400_000))

    (held,) = await letters.take(most=1)
    assert len(held.letter.queued.turn.content) == 4_000_000


async def test_a_queue_with_a_lower_limit_refuses_as_too_large(moto_endpoint: str) -> None:
    with sqs_queue(moto_endpoint, MaximumMessageSize="1024") as queue:
        letters = open_sqs(queue.queue, endpoint=moto_endpoint, deadline=PATIENCE)

        with pytest.raises(TooLargeError, match="MaximumMessageSize"):
            await letters.add(letter(os.urandom(2000).hex()))
        await letters.close()


@pytest.mark.parametrize(
    "body",
    [
        "the secret",
        "[1]",
        '{"user": "the secret"}',
        json.dumps({"kind": KIND, "turn": "the secret"}),
        json.dumps({"kind": "mcp-memory-server/dead-letter/2", "text": "the secret"}),
    ],
)
async def test_a_message_that_is_no_letter_is_reported_once_without_its_text_and_left_there(
    letters: SqsDeadLetters, queue: SqsLetterStore, caplog: pytest.LogCaptureFixture, body: str
) -> None:
    send(queue, body)
    await letters.add(letter("ours"))

    with caplog.at_level(logging.WARNING, "mcp_memory_server"):
        held = await letters.take(most=10)

    assert [one.letter.queued.turn.content for one in held] == ["ours"]
    assert await letters.count() == 2
    assert len(caplog.records) == 1
    assert "is no dead letter" in caplog.text
    assert "the secret" not in caplog.text


async def test_erasing_looks_through_so_many_and_says_that_there_may_be_more(
    letters: SqsDeadLetters, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(sqs, "MOST_SWEPT", 10)
    for number in range(12):
        await letters.add(letter(f"{number}", BEN))
    await letters.add(letter("last", ANA))

    assert await letters.erase("ana") == 0

    assert "the queue may hold more" in caplog.text
    assert len(await letters.take(most=20)) == 13


async def test_a_missing_queue_is_a_setting_to_correct(moto_endpoint: str) -> None:
    letters = open_sqs("nowhere", region="eu-west-1", endpoint=moto_endpoint, deadline=PATIENCE)

    with pytest.raises(ConfigurationError, match=r"aws sqs create-queue --queue-name nowhere .*=1209600"):
        await letters.add(letter())
    await letters.close()


async def test_a_queue_that_is_made_later_is_found(moto_endpoint: str) -> None:
    letters = open_sqs("made-later", endpoint=moto_endpoint, deadline=PATIENCE)
    with pytest.raises(ConfigurationError):
        await letters.add(letter())

    with closing(sqs_client(moto_endpoint)) as client:
        client.create_queue(QueueName="made-later")
    await letters.add(letter())

    assert await letters.count() == 1
    await letters.close()


@pytest.mark.parametrize("name", ["", "a b", "letters.fifo", "x" * 81])
def test_a_name_that_no_standard_queue_can_have_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="standard queue"):
        open_sqs(name)


@pytest.mark.parametrize("endpoint", ["secret", "ftp://secret", "http://me:secret@localhost", "http://[secret"])
def test_an_endpoint_that_is_none_is_refused_without_quoting_it(endpoint: str) -> None:
    with pytest.raises(ConfigurationError, match="endpoint") as refused:
        open_sqs("letters", endpoint=endpoint)

    assert "secret" not in str(refused.value)


async def test_a_queue_that_does_not_answer_is_unavailable_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        letters = open_sqs("letters", endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}", deadline=SHORT)

        with pytest.raises(UnavailableError):
            await letters.take(most=1)
        await letters.close()


async def test_a_queue_that_nobody_serves_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    letters = open_sqs("letters", endpoint=f"http://127.0.0.1:{port}", deadline=PATIENCE)

    with pytest.raises(UnavailableError, match="EndpointConnectionError"):
        await letters.add(letter())
    await letters.close()


class _Client:
    """Answers as SQS does on a bad day, which moto has none of."""

    def __init__(self, answer: Callable[[str], dict[str, Any]]) -> None:
        self._answer = answer

    def get_queue_url(self, **_: Any) -> dict[str, Any]:
        return {"QueueUrl": "http://queue"}

    def __getattr__(self, operation: str) -> Callable[..., dict[str, Any]]:
        return lambda **_: self._answer(operation)

    def close(self) -> None:
        pass


def answered_by(answer: Callable[[str], dict[str, Any]]) -> SqsDeadLetters:
    return SqsDeadLetters(Calls(QueueAddress("letters"), lambda: _Client(answer), deadline=PATIENCE))


def refusing(error: Exception) -> SqsDeadLetters:
    def refuse(operation: str) -> dict[str, Any]:
        raise error

    return answered_by(refuse)


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "the secret"}}, "SendMessage")


@pytest.mark.parametrize(
    ("error", "ours"),
    [
        (refusal("RequestThrottled"), UnavailableError),
        (refusal("OverLimit"), UnavailableError),
        (refusal("InternalError"), UnavailableError),
        (refusal("AccessDenied"), ConfigurationError),
        (refusal("ExpiredToken"), ConfigurationError),
        (refusal("AWS.SimpleQueueService.NonExistentQueue"), ConfigurationError),
        (NoCredentialsError(), ConfigurationError),
    ],
)
async def test_the_errors_of_sqs_become_ours_without_its_words(error: Exception, ours: type[MemoryServerError]) -> None:
    letters = refusing(error)

    with pytest.raises(ours) as refused:
        await letters.add(letter())

    assert "the secret" not in str(refused.value)
    await letters.close()


async def test_a_removal_that_sqs_failed_in_part_is_told() -> None:
    letters = answered_by(lambda _: {"Failed": [{"Id": "0", "SenderFault": False, "Code": "InternalError"}]})

    with pytest.raises(UnavailableError, match="InternalError"):
        await letters.remove(["receipt"])
    await letters.close()


async def test_letters_in_hand_are_given_although_the_next_request_fails(
    letters: SqsDeadLetters, queue: SqsLetterStore
) -> None:
    await letters.add(letter("first"))
    with closing(sqs_client(queue.endpoint)) as client:
        url = client.get_queue_url(QueueName=queue.queue)["QueueUrl"]
        (message,) = client.receive_message(QueueUrl=url)["Messages"]
    answers = iter([{"Messages": [message]}])

    def once(_: str) -> dict[str, Any]:
        try:
            return next(answers)
        except StopIteration:
            raise refusal("InternalError") from None

    failing = answered_by(once)

    assert [one.letter.queued.turn.content for one in await failing.take(most=10)] == ["first"]
    await failing.close()
