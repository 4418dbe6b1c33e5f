"""What DynamoDB's bad days do to the item table: throttling, lost replies, half answers, silence."""

import asyncio
import json
import logging
import socket
import threading
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ReadTimeoutError

from mcp_memory_server.adapters.dynamodb.address import TableAddress, connector
from mcp_memory_server.adapters.dynamodb.calls import Calls
from mcp_memory_server.adapters.dynamodb.item_table import DynamoDbItemTable, open_dynamodb
from mcp_memory_server.adapters.dynamodb.tables import create_table, delete_table
from mcp_memory_server.domain.kernel.items import Delete, Key, Put, Update, Write
from mcp_memory_server.errors import (
    ConfigurationError,
    ConflictError,
    InvalidRequestError,
    TableDamagedError,
    TableUnavailableError,
)
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

KEY = Key("USER#anna", "FACT#city")
OTHER = Key("USER#anna", "PROFILE")
LONG = timedelta(seconds=20)
SHORT = timedelta(milliseconds=600)
SLACK = 0.5

Send = Callable[[Any], AWSResponse]
Fault = Callable[[Send, Any], AWSResponse | None]


class _Body:
    def __init__(self, content: bytes) -> None:
        self._content = content

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self._content


def refused(code: str, status: int = 400, **more: Any) -> Fault:
    """The engine never sees the request; the answer is this error."""

    def fault(_: Send, request: Any) -> AWSResponse:
        body = json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no", **more}).encode()
        return AWSResponse(request.url, status, {"Content-Type": "application/x-amz-json-1.0"}, _Body(body))

    return fault


def lost_reply(meanwhile: Callable[[], object] = lambda: None) -> Fault:
    """The engine does what is asked, but nobody hears of it; meanwhile something else may happen."""

    def fault(send: Send, request: Any) -> AWSResponse:
        send(request)
        meanwhile()
        raise ReadTimeoutError(endpoint_url=request.url)

    return fault


THROTTLED = refused("ProvisionedThroughputExceededException")


class FaultyClient:
    """A real client, whose next requests of a kind meet the faults given for them, one each."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.sent: list[str] = []
        self._faults: dict[str, Iterator[Fault]] = {}
        client.meta.events.register_first("before-send.dynamodb", self._before_send)

    def on(self, operation: str, *faults: Fault) -> None:
        self._faults[operation] = iter(faults)

    def always_on(self, operation: str, fault: Fault) -> None:
        self._faults[operation] = iter(lambda: fault, None)

    def _before_send(self, request: Any, event_name: str, **_: Any) -> AWSResponse | None:
        operation = event_name.rpartition(".")[2]
        self.sent.append(operation)
        fault = next(self._faults.get(operation, iter(())), None)
        return fault(self.client._endpoint.http_session.send, request) if fault else None


@pytest.fixture
async def address(dynamodb_local_endpoint: str) -> AsyncIterator[TableAddress]:
    address = TableAddress(f"faults-{uuid.uuid4().hex}", "eu-west-1", dynamodb_local_endpoint)
    await create_table(address.name, region=address.region, endpoint=address.endpoint, progress=logging.debug)
    yield address
    await delete_table(address.name, region=address.region, endpoint=address.endpoint, progress=logging.debug)


@pytest.fixture
def faulty(address: TableAddress) -> FaultyClient:
    return FaultyClient(connector(address, LONG)())


@pytest.fixture
async def table(address: TableAddress, faulty: FaultyClient, clock: FakeClock) -> AsyncIterator[DynamoDbItemTable]:
    """A table with time for every retry, and no pause between them."""
    table = DynamoDbItemTable(Calls(address, lambda: faulty.client, deadline=LONG, jitter=lambda: 0), now=clock)
    yield table
    await table.close()


@pytest.fixture
async def hasty_table(address: TableAddress, faulty: FaultyClient) -> AsyncIterator[DynamoDbItemTable]:
    """A table with a short deadline."""
    table = DynamoDbItemTable(Calls(address, lambda: faulty.client, deadline=SHORT))
    yield table
    await table.close()


@pytest.fixture
def someone_else(address: TableAddress, clock: FakeClock) -> Callable[[Callable[[DynamoDbItemTable], Any]], None]:
    """Let another process use the table, from a thread that knows nothing of our event loop."""

    def act(what: Callable[[DynamoDbItemTable], Any]) -> None:
        async def run() -> None:
            table = open_dynamodb(address.name, region=address.region, endpoint=address.endpoint, now=clock)
            await what(table)
            await table.close()

        asyncio.run(run())

    return act


async def stored(table: DynamoDbItemTable, key: Key = KEY) -> tuple[int, dict[str, Any]] | None:
    item = await table.get(key)
    return None if item is None else (item.version, dict(item.body))


@pytest.mark.parametrize(
    "code",
    ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded", "InternalServerError"],
)
async def test_a_request_that_is_throttled_for_a_while_succeeds(
    table: DynamoDbItemTable, faulty: FaultyClient, code: str
) -> None:
    faulty.on("PutItem", *[refused(code)] * 7)

    assert await table.put(Put(KEY, {"text": "Bern"}, 0)) == 1

    assert faulty.sent.count("PutItem") == 8


@pytest.mark.parametrize("fault", [THROTTLED, refused("ServiceUnavailable", 503)], ids=["throttled", "unavailable"])
async def test_a_request_that_is_refused_for_ever_ends_within_the_deadline(
    hasty_table: DynamoDbItemTable, faulty: FaultyClient, fault: Fault
) -> None:
    faulty.always_on("Query", fault)
    started = time.monotonic()

    with pytest.raises(TableUnavailableError, match=r"did not answer within 0\.6 s"):
        await hasty_table.query(KEY.pk, limit=1)

    assert time.monotonic() - started < SHORT.total_seconds() + SLACK
    assert faulty.sent.count("Query") > 1


@pytest.mark.parametrize("expected_version", [None, 1])
async def test_a_put_whose_reply_is_lost_is_made_once(
    table: DynamoDbItemTable, faulty: FaultyClient, expected_version: int | None
) -> None:
    await table.put(Put(KEY, {"text": "Bern"}, 0))
    faulty.on("PutItem", lost_reply())

    assert await table.put(Put(KEY, {"text": "Basel"}, expected_version)) == 2

    assert await stored(table) == (2, {"text": "Basel"})


async def test_a_creation_whose_reply_is_lost_twice_is_no_conflict_with_itself(
    table: DynamoDbItemTable, faulty: FaultyClient
) -> None:
    faulty.on("PutItem", lost_reply(), lost_reply())

    assert await table.put(Put(KEY, {"text": "Bern"}, 0)) == 1


async def test_a_put_is_recognised_although_someone_updated_the_item_since(
    table: DynamoDbItemTable, faulty: FaultyClient, someone_else: Any
) -> None:
    update = Update(KEY, add={"count": 1})
    faulty.on("PutItem", lost_reply(lambda: someone_else(lambda other: other.update(update))))

    assert await table.put(Put(KEY, {"text": "Bern"}, 0)) == 1

    assert await stored(table) == (2, {"text": "Bern", "count": 1})


async def test_a_put_that_someone_replaced_since_is_unclear_and_not_called_a_conflict(
    table: DynamoDbItemTable, faulty: FaultyClient, someone_else: Any
) -> None:
    faulty.on("PutItem", lost_reply(lambda: someone_else(lambda other: other.put(Put(KEY, {"text": "Basel"}, 1)))))

    with pytest.raises(TableUnavailableError, match="may have happened"):
        await table.put(Put(KEY, {"text": "Bern"}, 0))


async def test_a_conflict_after_a_lost_request_is_a_conflict(
    table: DynamoDbItemTable, faulty: FaultyClient, someone_else: Any
) -> None:
    def never_arrives(_: Send, request: Any) -> AWSResponse:
        someone_else(lambda other: other.put(Put(KEY, {"text": "the secret word"}, 0)))
        raise ReadTimeoutError(endpoint_url=request.url)

    faulty.on("PutItem", never_arrives)

    with pytest.raises(ConflictError, match="expected version 0 of the FACT item, found 1") as caught:
        await table.put(Put(KEY, {"text": "Bern"}, 0))
    assert "city" not in str(caught.value)


async def test_a_counter_is_raised_once_when_the_reply_is_lost(table: DynamoDbItemTable, faulty: FaultyClient) -> None:
    faulty.on("UpdateItem", lost_reply(), lost_reply())

    item = await table.update(Update(KEY, add={"count": 1}))

    assert (item.version, item.body) == (1, {"count": 1})


async def test_a_counter_is_raised_once_although_someone_raised_it_since(
    table: DynamoDbItemTable, faulty: FaultyClient, someone_else: Any
) -> None:
    async def raise_it_three_times(other: DynamoDbItemTable) -> None:
        for _ in range(3):
            await other.update(Update(KEY, add={"count": 10}))

    faulty.on("UpdateItem", lost_reply(lambda: someone_else(raise_it_three_times)))

    item = await table.update(Update(KEY, add={"count": 1}))

    assert (item.version, item.body) == (4, {"count": 31})


async def test_an_update_with_an_expected_version_is_no_conflict_with_itself(
    table: DynamoDbItemTable, faulty: FaultyClient
) -> None:
    await table.put(Put(KEY, {"count": 1}, 0))
    faulty.on("UpdateItem", lost_reply())

    item = await table.update(Update(KEY, add={"count": 1}, expected_version=1))

    assert (item.version, item.body) == (2, {"count": 2})


async def test_an_expired_counter_starts_anew_once_when_the_reply_is_lost(
    table: DynamoDbItemTable, faulty: FaultyClient, clock: FakeClock
) -> None:
    await table.put(Put(KEY, {"count": 5}, 0, clock() + timedelta(minutes=1)))
    clock.advance(timedelta(minutes=1))
    faulty.on("PutItem", lost_reply())

    item = await table.update(Update(KEY, add={"count": 1}))

    assert (item.version, item.body) == (1, {"count": 1})
    assert await stored(table) == (1, {"count": 1})


async def test_writes_at_once_are_made_once_when_the_reply_is_lost(
    table: DynamoDbItemTable, faulty: FaultyClient
) -> None:
    await table.put(Put(OTHER, {"count": 1}))
    gone = Key(KEY.pk, "GONE")
    await table.put(Put(gone, {}))
    faulty.on("TransactWriteItems", lost_reply(), lost_reply())

    await table.write([Put(KEY, {"text": "Bern"}), Update(OTHER, add={"count": 1}), Delete(gone, 1)])

    assert await stored(table) == (1, {"text": "Bern"})
    assert await stored(table, OTHER) == (2, {"count": 2})
    assert await stored(table, gone) is None


async def test_deletions_at_once_are_no_conflict_with_themselves(
    table: DynamoDbItemTable, faulty: FaultyClient
) -> None:
    await table.write([Put(KEY, {}, 0), Put(OTHER, {}, 0)])
    faulty.on("TransactWriteItems", lost_reply())

    await table.write([Delete(KEY, 1), Delete(OTHER, 1)])

    assert (await stored(table), await stored(table, OTHER)) == (None, None)


async def test_writes_at_once_are_repeated_when_another_transaction_is_in_the_way(
    table: DynamoDbItemTable, faulty: FaultyClient
) -> None:
    reasons = [{"Code": "None"}, {"Code": "TransactionConflict"}]
    in_the_way = refused("TransactionCanceledException", CancellationReasons=reasons)
    faulty.on("TransactWriteItems", in_the_way, refused("TransactionInProgressException"), in_the_way)

    await table.write([Put(KEY, {"text": "Bern"}), Update(OTHER, add={"count": 1})])

    assert (await stored(table), await stored(table, OTHER)) == ((1, {"text": "Bern"}), (1, {"count": 1}))


async def test_the_same_operation_may_be_decided_anew_after_a_conflict(table: DynamoDbItemTable) -> None:
    await table.put(Put(OTHER, {"count": 1}, 0))
    stale: list[Write] = [Put(KEY, {"text": "Bern"}, 0), Update(OTHER, add={"count": 1}, expected_version=7)]
    with pytest.raises(ConflictError, match="of the PROFILE item, found 1"):
        await table.write(stale, operation_id="op-1")

    await table.write(
        [Put(KEY, {"text": "Basel"}, 0), Update(OTHER, add={"count": 1}, expected_version=1)], operation_id="op-1"
    )

    assert (await stored(table), await stored(table, OTHER)) == ((1, {"text": "Basel"}), (2, {"count": 2}))


async def test_a_deletion_whose_reply_is_lost_tells_that_the_item_was_there(
    table: DynamoDbItemTable, faulty: FaultyClient
) -> None:
    await table.put(Put(KEY, {}, 0))
    faulty.on("DeleteItem", lost_reply())

    assert await table.delete(KEY, expected_version=1) is True

    assert await stored(table) is None


async def test_a_repeated_deletion_spares_what_someone_wrote_since(
    table: DynamoDbItemTable, faulty: FaultyClient, someone_else: Any
) -> None:
    await table.put(Put(KEY, {"text": "Bern"}, 0))
    anew = Put(KEY, {"text": "Basel"}, 0)
    faulty.on("DeleteItem", lost_reply(lambda: someone_else(lambda other: other.put(anew))))

    assert await table.delete(KEY) is True

    assert await stored(table) == (1, {"text": "Basel"})


async def test_what_a_batch_left_undone_is_deleted_too(
    table: DynamoDbItemTable, faulty: FaultyClient, address: TableAddress
) -> None:
    keys = [Key(KEY.pk, f"TURN#{number:02}") for number in range(30)]
    for key in keys:
        await table.put(Put(key, {}, 0))
    left: list[Any] = []

    def send_half(params: dict[str, Any], **_: Any) -> None:
        requests = params["RequestItems"][address.name]
        params["RequestItems"] = {address.name: requests[: (len(requests) + 1) // 2]}
        left[:] = requests[(len(requests) + 1) // 2 :]

    def return_the_rest(parsed: dict[str, Any], **_: Any) -> None:
        parsed["UnprocessedItems"] = {address.name: list(left)} if left else {}

    faulty.client.meta.events.register("provide-client-params.dynamodb.BatchWriteItem", send_half)
    faulty.client.meta.events.register("after-call.dynamodb.BatchWriteItem", return_the_rest)

    await table.delete_many(keys)

    assert (await table.query(KEY.pk, limit=None)).items == ()
    assert faulty.sent.count("BatchWriteItem") == 5 + 3  # 25 as 13, 6, 3, 2, 1 and 5 as 3, 1, 1


async def test_a_batch_that_is_never_done_ends_within_the_deadline(
    hasty_table: DynamoDbItemTable, faulty: FaultyClient, address: TableAddress
) -> None:
    def return_all(parsed: dict[str, Any], **_: Any) -> None:
        parsed["UnprocessedItems"] = {address.name: [{"DeleteRequest": {"Key": {"pk": {"S": "a"}, "sk": {"S": "b"}}}}]}

    faulty.client.meta.events.register("after-call.dynamodb.BatchWriteItem", return_all)
    started = time.monotonic()

    with pytest.raises(TableUnavailableError):
        await hasty_table.delete_many([KEY])

    assert time.monotonic() - started < SHORT.total_seconds() + SLACK


async def test_keys_that_an_answer_left_out_are_asked_for_again(
    table: DynamoDbItemTable, faulty: FaultyClient, address: TableAddress
) -> None:
    keys = [Key(KEY.pk, f"TURN#{number}") for number in range(8)]
    await table.write([Put(key, {"text": key.sk}, 0) for key in keys])
    left: list[Any] = []

    def ask_for_half(params: dict[str, Any], **_: Any) -> None:
        wanted = params["RequestItems"][address.name]
        left[:] = wanted["Keys"][(len(wanted["Keys"]) + 1) // 2 :]
        params["RequestItems"] = {address.name: {**wanted, "Keys": wanted["Keys"][: (len(wanted["Keys"]) + 1) // 2]}}

    def return_the_rest(parsed: dict[str, Any], **_: Any) -> None:
        parsed["UnprocessedKeys"] = {address.name: {"Keys": list(left), "ConsistentRead": True}} if left else {}

    faulty.client.meta.events.register("provide-client-params.dynamodb.BatchGetItem", ask_for_half)
    faulty.client.meta.events.register("after-call.dynamodb.BatchGetItem", return_the_rest)

    found = await table.get_many([*keys, *keys, OTHER])

    assert {key: item.body["text"] for key, item in found.items()} == {key: key.sk for key in keys}
    assert faulty.sent.count("BatchGetItem") > 1


@pytest.fixture
def silent_endpoint() -> Iterator[str]:
    """An address that takes connections and never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture
def closed_endpoint() -> str:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.mark.parametrize("endpoint", ["closed_endpoint", "silent_endpoint"])
async def test_an_endpoint_that_does_not_answer_holds_neither_the_call_nor_the_event_loop(
    endpoint: str, request: pytest.FixtureRequest
) -> None:
    table = open_dynamodb(
        "memory", region="eu-west-1", endpoint=request.getfixturevalue(endpoint), deadline=timedelta(seconds=1)
    )
    started = time.monotonic()
    call = asyncio.create_task(table.get(KEY))
    longest = await _longest_gap_until(call)

    with pytest.raises(TableUnavailableError, match="'memory' in http://127"):
        await call

    assert time.monotonic() - started < 1 + SLACK
    assert longest < SLACK
    await table.close()


async def _longest_gap_until(call: asyncio.Task[Any]) -> float:
    longest, before = 0.0, time.monotonic()
    while not call.done():
        await asyncio.sleep(0.01)
        longest, before = max(longest, time.monotonic() - before), time.monotonic()
    return longest


async def test_a_thread_that_hangs_does_not_hold_the_call(address: TableAddress) -> None:
    released = threading.Event()
    table = DynamoDbItemTable(Calls(address, lambda: released.wait() and connector(address, SHORT)(), deadline=SHORT))
    started = time.monotonic()

    with pytest.raises(TableUnavailableError):
        await table.get(KEY)

    assert time.monotonic() - started < SHORT.total_seconds() + SLACK
    released.set()
    await table.close()


async def test_a_cancelled_write_leaves_the_table_usable(table: DynamoDbItemTable, faulty: FaultyClient) -> None:
    sending, released = threading.Event(), threading.Event()

    def held_back(send: Send, request: Any) -> AWSResponse:
        sending.set()
        released.wait(5)
        return send(request)

    faulty.on("PutItem", held_back)
    call = asyncio.create_task(table.put(Put(KEY, {"text": "Bern"}, 0), operation_id="op-1"))
    await asyncio.to_thread(sending.wait, 5)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    released.set()

    assert await table.put(Put(KEY, {"text": "Bern"}, 0), operation_id="op-1") == 1
    assert await stored(table) == (1, {"text": "Bern"})


async def test_a_missing_table_is_named_together_with_the_command_that_makes_it(dynamodb_local_endpoint: str) -> None:
    table = open_dynamodb("no-such-table", region="eu-west-1", endpoint=dynamodb_local_endpoint)

    with pytest.raises(
        ConfigurationError, match=r"'no-such-table' in http.* does not exist; .*mcp-memory-server tables create"
    ):
        await table.get(KEY)
    await table.close()


async def test_missing_credentials_are_a_matter_of_settings(
    dynamodb_local_endpoint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    table = open_dynamodb("memory", region="eu-west-1", endpoint=dynamodb_local_endpoint)

    with pytest.raises(ConfigurationError, match="AWS_ACCESS_KEY_ID"):
        await table.get(KEY)
    await table.close()


async def test_a_missing_region_is_a_matter_of_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    table = open_dynamodb("memory")

    with pytest.raises(ConfigurationError, match=r"dynamodb://memory\?region="):
        await table.get(KEY)
    await table.close()


@pytest.mark.parametrize("code", ["UnrecognizedClientException", "ExpiredTokenException", "AccessDeniedException"])
async def test_credentials_that_are_not_accepted_are_a_matter_of_settings(
    table: DynamoDbItemTable, faulty: FaultyClient, code: str
) -> None:
    faulty.always_on("GetItem", refused(code))

    with pytest.raises(ConfigurationError, match=code):
        await table.get(KEY)

    assert faulty.sent == ["GetItem"]


@pytest.mark.parametrize("name", ["a", "no/slash", "x" * 256])
def test_a_name_that_no_table_can_have_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="3 to 255"):
        open_dynamodb(name)


@pytest.mark.parametrize("endpoint", ["localhost:8000", "ftp://host", "http://", "http://user:word@host"])
def test_an_endpoint_that_is_no_web_address_is_refused_without_repeating_it(endpoint: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        open_dynamodb("memory", endpoint=endpoint)

    assert "word" not in str(caught.value)


async def test_an_item_of_another_program_is_not_taken_for_ours(
    table: DynamoDbItemTable, faulty: FaultyClient, address: TableAddress
) -> None:
    faulty.client.put_item(
        TableName=address.name, Item={"pk": {"S": KEY.pk}, "sk": {"S": KEY.sk}, "text": {"S": "Bern"}}
    )

    item = await table.get(KEY)

    assert item is not None
    with pytest.raises(TableDamagedError, match="version"):
        item.body.get("text")


async def test_a_cursor_of_another_query_finds_what_lies_ahead_of_it(table: DynamoDbItemTable) -> None:
    await table.write([Put(Key(KEY.pk, sk), {}, 0) for sk in ("a", "m1", "m2", "z")])

    before = await table.query(KEY.pk, prefix="m", limit=None, cursor="a")
    behind = await table.query(KEY.pk, prefix="m", limit=None, cursor="z")
    from_behind = await table.query(KEY.pk, prefix="m", limit=None, cursor="z", descending=True)

    assert [[item.key.sk for item in page.items] for page in (before, behind, from_behind)] == [
        ["m1", "m2"],
        [],
        ["m2", "m1"],
    ]


async def test_a_request_that_the_engine_calls_invalid_is_the_callers_matter(
    table: DynamoDbItemTable, faulty: FaultyClient
) -> None:
    await table.put(Put(KEY, {"name": "Ana"}, 0))

    with pytest.raises(InvalidRequestError):
        await table.update(Update(KEY, add={"name": 1}))

    assert faulty.sent == ["PutItem", "UpdateItem"]


async def test_a_closed_table_says_so(table: DynamoDbItemTable) -> None:
    await table.get(KEY)
    await table.close()

    with pytest.raises(TableUnavailableError, match="closed"):
        await table.get(KEY)
