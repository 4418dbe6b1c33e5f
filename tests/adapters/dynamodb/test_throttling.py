"""A table that refuses because of too much is told apart from one that does not answer."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from mcp_memory_server.adapters.dynamodb.address import TableAddress
from mcp_memory_server.adapters.dynamodb.calls import Calls
from mcp_memory_server.adapters.dynamodb.item_table import DynamoDbItemTable
from mcp_memory_server.domain.kernel.items import Key, Put
from mcp_memory_server.errors import TableThrottledError, TableUnavailableError

pytestmark = pytest.mark.anyio

PATIENCE = 10_000.0  # longer than the deadline: the first refusal is the last one
PUT = Put(Key("SESSION#anna#1", "TURN#1"), {"role": "user"}, expected_version=0)


class Refusing:
    """A client whose every request is refused: neither engine can be made to throttle."""

    def __init__(self, code: str, reasons: tuple[str, ...]) -> None:
        self._answer: Any = {
            "Error": {"Code": code, "Message": "no"},
            "CancellationReasons": [{"Code": reason} for reason in reasons],
        }

    def close(self) -> None:
        """Nothing is open."""

    def __getattr__(self, operation: str) -> Callable[..., None]:
        def refuse(**_: object) -> None:
            raise ClientError(self._answer, operation)

        return refuse


def table_that_refuses(code: str, *reasons: str) -> DynamoDbItemTable:
    address = TableAddress("memory", "eu-west-1", None)
    calls = Calls(address, lambda: Refusing(code, reasons), deadline=timedelta(seconds=20), jitter=lambda: PATIENCE)
    return DynamoDbItemTable(calls)


async def test_too_many_requests_are_told_when_time_is_up() -> None:
    table = table_that_refuses("ProvisionedThroughputExceededException")

    with pytest.raises(TableThrottledError, match="ProvisionedThroughputExceeded"):
        await table.put(PUT)
    await table.close()


async def test_a_transaction_that_is_too_much_is_told_too() -> None:
    table = table_that_refuses("TransactionCanceledException", "None", "ThrottlingError")

    with pytest.raises(TableThrottledError):
        await table.write([PUT, Put(Key("SESSION#anna#1", "~META"), {}, 0)])
    await table.close()


@pytest.mark.parametrize("code", ["InternalServerError", "TransactionConflictException"])
async def test_other_trouble_is_not_taken_for_too_much(code: str) -> None:
    table = table_that_refuses(code)

    with pytest.raises(TableUnavailableError) as caught:
        await table.put(PUT)
    assert not isinstance(caught.value, TableThrottledError)
    await table.close()
