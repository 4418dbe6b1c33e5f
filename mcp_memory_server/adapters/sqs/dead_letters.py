"""Dead letters in a standard queue of SQS."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import Any

from mcp_memory_server.adapters.sqs.address import QueueAddress, connector
from mcp_memory_server.adapters.sqs.calls import Calls
from mcp_memory_server.adapters.sqs.letters import letter_from, letter_text
from mcp_memory_server.domain.sessions.queued_turns import DeadLetter, HeldLetter
from mcp_memory_server.errors import TooLargeError, UnavailableError

DEADLINE = timedelta(seconds=5)
"""The deadline of one request. Receiving, releasing and erasing many letters takes several requests."""
IN_HAND = timedelta(minutes=5)
"""How long a received letter is invisible to other receivers."""
MAX_MESSAGE_BYTES = 256 * 1024
"""The largest message that every queue accepts."""
MOST_SWEPT = 10_000
"""Erasing a user reads at most this many letters: a queue has no search by user."""

_MOST_PER_REQUEST = 10
_WAIT_SECONDS = 1
"""Long polling: without it SQS asks only some of its servers and may return nothing although letters exist."""
_COUNTERS = (
    "ApproximateNumberOfMessages",
    "ApproximateNumberOfMessagesNotVisible",
    "ApproximateNumberOfMessagesDelayed",
)

logger = logging.getLogger(__name__)


def open_sqs(
    queue: str, *, region: str | None = None, endpoint: str | None = None, deadline: timedelta = DEADLINE
) -> "SqsDeadLetters":
    """Return the letters, without a request: a missing queue or credential shows when it is first used.

    Raises:
        ConfigurationError: The name or the endpoint cannot be one.
    """
    address = QueueAddress(queue, region, endpoint)
    return SqsDeadLetters(Calls(address, connector(address, deadline), deadline=deadline))


class SqsDeadLetters:
    """Answers the port of dead letters on a queue. Messages of other programs stay in the queue.

    SQS keeps a message for 14 days at most, and for 4 days by default.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._reported: set[str] = set()

    async def add(self, letter: DeadLetter) -> None:
        """See the port.

        Raises:
            TooLargeError: The letter is over what a queue takes.
            ConfigurationError: There is no such queue, or it may not be used.
        """
        text = await asyncio.to_thread(letter_text, letter)
        if len(text) > MAX_MESSAGE_BYTES:
            raise TooLargeError(f"the letter would be {len(text):,} bytes; a queue accepts {MAX_MESSAGE_BYTES:,}")
        await self._calls.send("send_message", MessageBody=text)

    async def take(self, *, most: int) -> Sequence[HeldLetter]:
        """See the port."""
        held: list[HeldLetter] = []
        while len(held) < most:
            try:
                messages = await self._receive(most - len(held), wait=not held)
            except UnavailableError:
                if not held:
                    raise
                break  # those already received are returned: fewer than asked for is allowed
            if not messages:
                break
            held += self._letters(messages)
        return held

    async def let_go(self, receipts: Sequence[str]) -> None:
        """See the port. A receiver that held a letter for too long changes nothing."""
        await self._in_batches("change_message_visibility_batch", receipts, VisibilityTimeout=0)

    async def remove(self, receipts: Sequence[str]) -> None:
        """See the port."""
        await self._in_batches("delete_message_batch", receipts)

    async def erase(self, user_id: str) -> int:
        """See the port. Letters that a receiver holds are invisible, and of very many not all are read."""
        erased, swept, others = 0, 0, list[str]()
        while swept < MOST_SWEPT and (messages := await self._receive(_MOST_PER_REQUEST, wait=True)):
            letters = self._letters(messages)
            theirs = [held.receipt for held in letters if held.letter.queued.scope.user_id == user_id]
            await self.remove(theirs)
            others += [held.receipt for held in letters if held.letter.queued.scope.user_id != user_id]
            erased, swept = erased + len(theirs), swept + len(messages)
        await self.let_go(others)
        if swept >= MOST_SWEPT:
            logger.warning(
                "read %s messages of %s to erase a user; the queue may hold more", swept, self._calls.address
            )
        return erased

    async def count(self) -> int:
        """See the port."""
        answer = await self._calls.send("get_queue_attributes", AttributeNames=_COUNTERS)
        return sum(int(answer["Attributes"].get(name, 0)) for name in _COUNTERS)

    async def close(self) -> None:
        """See the port."""
        await self._calls.close()

    async def _receive(self, most: int, *, wait: bool) -> list[dict[str, Any]]:
        answer = await self._calls.send(
            "receive_message",
            MaxNumberOfMessages=min(most, _MOST_PER_REQUEST),
            VisibilityTimeout=int(IN_HAND.total_seconds()),
            WaitTimeSeconds=_WAIT_SECONDS if wait else 0,
        )
        return answer.get("Messages", [])

    def _letters(self, messages: Sequence[dict[str, Any]]) -> list[HeldLetter]:
        read = [(message, letter_from(message["Body"])) for message in messages]
        for message, letter in read:
            if letter is None and message["MessageId"] not in self._reported:
                self._reported.add(message["MessageId"])
                logger.error(
                    "message %s of %s is no dead letter; it was left there", message["MessageId"], self._calls.address
                )
        return [HeldLetter(letter, message["ReceiptHandle"]) for message, letter in read if letter is not None]

    async def _in_batches(self, operation: str, receipts: Sequence[str], **more: Any) -> None:
        for some in _batches(receipts):
            entries = [{"Id": str(place), "ReceiptHandle": receipt, **more} for place, receipt in enumerate(some)]
            answer = await self._calls.send(operation, Entries=entries)
            # A sender's fault is an expired receipt: nothing can be done about it.
            if unserved := [entry["Code"] for entry in answer.get("Failed", ()) if not entry["SenderFault"]]:
                raise UnavailableError(f"{self._calls.address} refused a part of the request: {unserved[0]}")


def _batches(receipts: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(receipts), _MOST_PER_REQUEST):
        yield receipts[start : start + _MOST_PER_REQUEST]
