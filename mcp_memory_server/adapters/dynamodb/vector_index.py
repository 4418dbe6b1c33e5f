"""The vector index of a DynamoDB table, searched with ``SearchVectors``.

What this relies on is in the service's model (botocore 1.44: ``SearchVectors``, the ``VectorIndexes`` of
``CreateTable`` and ``DescribeTable``, the ``VectorIndexUpdates`` of ``UpdateTable``) and in AWS's developer guide:

- A vector is a list of numbers (``L`` of ``N``); bytes are not taken. The index keeps 32-bit floats. A write whose
  vector has another length than the index says is refused as a whole. An item without the vector, or without the
  attribute that is the index's ``HASH``, is not in the index.
- With a ``HASH`` in the search schema, a search must name its value, with ``=``. ``TopK`` is 1 to 100, and there are no
  pages. A score is the cosine distance, 0 to 2, the smallest first.
- Tables must be on demand. Fine-grained access control (``dynamodb:LeadingKeys``) does not apply to ``SearchVectors``.
- While an index is built over items that are there, a search is a ``ValidationException``.
- The client sends these searches to a host of their own (``search-dynamodb…``, or ``….search-ddb…`` with the account's
  number) unless an endpoint is given; a policy of the network has to let that through.

What could not be seen without the service, and is not relied on: how far behind the index is, how often its approximate
search passes over a neighbour, how long a search takes, and whether a vector of zeros is taken (none is sent).
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import boto3

from mcp_memory_server.adapters.aws.clients import Service
from mcp_memory_server.adapters.aws.clients import connector as aws_connector
from mcp_memory_server.adapters.dynamodb.address import TableAddress
from mcp_memory_server.adapters.dynamodb.calls import Calls, RefusedError
from mcp_memory_server.domain.kernel.items import Key
from mcp_memory_server.errors import ConfigurationError, InvalidRequestError
from mcp_memory_server.ports.vector_index import MOST_FOUND

DEADLINE = timedelta(seconds=2)
"""Short, because its results are an addition to a reply that is complete without them."""

FIRST_BOTO3 = (1, 43, 64)
"""The first release that knows SearchVectors."""

_SEARCHES_AT_ONCE = 16
_MISSING = "ResourceNotFoundException"


def open_vector_index(
    table: str,
    index: str,
    owner_attribute: str,
    *,
    region: str | None = None,
    endpoint: str | None = None,
    deadline: timedelta = DEADLINE,
) -> "DynamoDbVectorIndex":
    """Return the index of the table, without a request: a missing index shows in the first search.

    Raises:
        ConfigurationError: The installed boto3 does not know vector indexes, or the endpoint cannot be one.
    """
    check_boto3()
    address = TableAddress(table, region, endpoint)
    # One attempt may use the whole deadline: an abandoned search costs as much as an answered one.
    service = Service("dynamodb", region, endpoint, deadline, _SEARCHES_AT_ONCE, read_share=1)
    return DynamoDbVectorIndex(Calls(address, aws_connector(service), deadline=deadline), index, owner_attribute)


def check_boto3(version: str = boto3.__version__) -> None:
    """Refuse a client that is older than vector indexes.

    Raises:
        ConfigurationError: It is.
    """
    if tuple(int(part) for part in version.split(".")[:3]) < FIRST_BOTO3:
        wanted = ".".join(map(str, FIRST_BOTO3))
        raise ConfigurationError(
            f"MCP_MEMORY_VECTOR_INDEX needs boto3 {wanted} or newer, and {version} is installed; "
            f"install it with: pip install 'boto3>={wanted}'"
        )


class DynamoDbVectorIndex:
    """Answers the vector index's port. Each search has one deadline."""

    def __init__(self, calls: Calls, index: str, owner_attribute: str) -> None:
        self._calls = calls
        self._index = index
        self._owner_attribute = owner_attribute

    async def nearest(self, owner: str, vector: bytes, *, limit: int = MOST_FOUND) -> Sequence[Key]:
        """See the port."""
        if not 1 <= limit <= MOST_FOUND:
            raise InvalidRequestError(f"limit must be 1 to {MOST_FOUND}, got {limit}")
        request = self._search(owner, vector, limit)
        try:
            answer = await self._calls.send("search_vectors", request, self._calls.start(), shown=(_MISSING,))
        except RefusedError as error:
            raise ConfigurationError(
                f"{self._calls.address} has no vector index {self._index!r}; "
                "make it with: mcp-memory-server tables create"
            ) from error
        found = (result["Item"] for result in answer.get("SearchResults", ()))
        return [Key(item["pk"]["S"], item["sk"]["S"]) for item in found]

    async def close(self) -> None:
        """See the port."""
        await self._calls.close()

    def _search(self, owner: str, vector: bytes, limit: int) -> dict[str, Any]:
        return {
            "TableName": self._calls.address.name,
            "IndexName": self._index,
            "SearchVector": [{"N": str(number)} for number in memoryview(vector).cast("b")],
            "SearchConditionExpression": "#owner = :owner",
            "ExpressionAttributeNames": {"#owner": self._owner_attribute},
            "ExpressionAttributeValues": {":owner": {"S": owner}},
            # Keys only: the items themselves are read from the table.
            "ProjectionExpression": "pk, sk",
            "TopK": limit,
        }
