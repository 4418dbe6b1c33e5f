"""DynamoDB with vector indexes, which no engine that runs here has.

A proxy before an engine passes everything on, answers ``SearchVectors`` itself, by the exact cosine over the items of
the table, and keeps what ``CreateTable``, ``UpdateTable`` and ``DescribeTable`` say about such indexes. It refuses what
the service is documented to refuse.
"""

import asyncio
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import boto3

from tests.engines.http_proxy import HttpProxy, header, refusal, reply

MOST_RESULTS = 100

_TARGET = b"x-amz-target"
_EQUALS = re.compile(r"\s*(\S+)\s*=\s*(\S+)\s*")


class InvalidError(Exception):
    """What the service answers to what it does not take."""


class VectorEndpoint(HttpProxy):
    """Stands before an engine for as long as its block lasts.

    ``searches`` are the searches that reached an index. With ``ignores_owners`` it finds the items of everybody.
    An index that is added to a table can be searched after ``looks_until_built`` descriptions of the table.
    """

    def __init__(self, endpoint: str) -> None:
        super().__init__(endpoint)
        self.searches: list[Mapping[str, Any]] = []
        self.ignores_owners = False
        self.looks_until_built = 0
        self._client: Any = boto3.client("dynamodb", endpoint_url=endpoint)
        self._indexes: dict[str, dict[str, dict[str, Any]]] = {}
        self._looks: dict[str, int] = {}
        self._as_they_were: dict[str, list[dict[str, Any]]] = {}

    def items(self, table: str) -> list[dict[str, Any]]:
        """Return all items of a table, as they are now."""
        pages = self._client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
        return [item for page in pages for item in page["Items"]]

    async def stand_still(self, table: str) -> None:
        """From now on the indexes of the table know nothing of what is written, until they catch up."""
        self._as_they_were[table] = await asyncio.to_thread(self.items, table)

    def catch_up(self, table: str) -> None:
        """Let the indexes of the table follow it again."""
        del self._as_they_were[table]

    def rebuild(self, table: str) -> None:
        """Let the indexes of the table be built anew."""
        self._looks[table] = self.looks_until_built

    async def pass_on(self, head: bytes, body: bytes) -> bytes:
        """See the proxy."""
        operation = header(head, _TARGET).rpartition(".")[2]
        answers = {
            "SearchVectors": self._search,
            "CreateTable": self._create,
            "UpdateTable": self._update,
            "DescribeTable": self._describe,
        }
        try:
            asked = json.loads(body or b"{}")
            self._check_vectors(asked)
            if operation in answers:
                return await answers[operation](head, asked)
        except InvalidError as error:
            return refusal("ValidationException", str(error))
        return await super().pass_on(head, body)

    # Searching.

    async def _search(self, _head: bytes, asked: Mapping[str, Any]) -> bytes:
        index = self._indexes.get(asked["TableName"], {}).get(asked["IndexName"])
        if index is None:
            return refusal("ResourceNotFoundException", "Requested resource not found")
        self.searches.append(asked)
        if self._looks.get(asked["TableName"], 0):
            raise InvalidError("Cannot search backfilling index")
        if not 1 <= asked["TopK"] <= MOST_RESULTS:
            raise InvalidError("Provided TopK value is out of valid range")
        question = numbers({"L": asked["SearchVector"]}, index["Dimensions"])
        owner = self._owner(asked, index)
        items = self._as_they_were.get(asked["TableName"])
        items = await asyncio.to_thread(self.items, asked["TableName"]) if items is None else items
        found = [item for item in items if self._is_in(item, index, owner)]
        name = index["VectorAttribute"]["AttributeName"]
        scored = sorted(((distance(question, numbers(item[name])), item) for item in found), key=lambda one: one[0])
        wanted = [part.strip() for part in asked["ProjectionExpression"].split(",")]
        results = [
            {"Item": {part: item[part] for part in wanted}, "Score": score} for score, item in scored[: asked["TopK"]]
        ]
        return reply({"SearchResults": results})

    def _owner(self, asked: Mapping[str, Any], index: Mapping[str, Any]) -> Any:
        if "SearchConditionExpression" not in asked:
            raise InvalidError("SearchConditionExpression must be provided when SearchSchema has a HASH key")
        condition = _EQUALS.fullmatch(asked["SearchConditionExpression"])
        if condition is None:
            raise InvalidError("Invalid comparator used in SearchConditionExpression")
        name = asked["ExpressionAttributeNames"].get(condition[1], condition[1])
        if name != hash_of(index):
            raise InvalidError("SearchConditionExpression names an attribute that is not in the SearchSchema")
        return asked["ExpressionAttributeValues"][condition[2]]

    def _is_in(self, item: Mapping[str, Any], index: Mapping[str, Any], owner: Any) -> bool:
        has_both = hash_of(index) in item and index["VectorAttribute"]["AttributeName"] in item
        return has_both and (self.ignores_owners or item[hash_of(index)] == owner)

    # Tables.

    async def _create(self, head: bytes, asked: dict[str, Any]) -> bytes:
        wanted = asked.pop("VectorIndexes", [])
        for index in wanted:
            self._check_index(index, asked, asked.get("BillingMode"))
            asked["AttributeDefinitions"] = without(asked["AttributeDefinitions"], hash_of(index))
        answer = await super().pass_on(*with_body(head, asked))
        if answer.startswith(b"HTTP/1.1 200"):
            self._indexes[asked["TableName"]] = {index["IndexName"]: index for index in wanted}
        return answer

    async def _update(self, head: bytes, asked: dict[str, Any]) -> bytes:
        table = asked["TableName"]
        if "VectorIndexUpdates" not in asked:
            return await super().pass_on(*with_body(head, asked))
        described = self._client.describe_table(TableName=table)["Table"]
        for change in asked["VectorIndexUpdates"]:
            index = change["Create"]
            self._check_index(index, asked, described.get("BillingModeSummary", {}).get("BillingMode"))
            self._indexes.setdefault(table, {})[index["IndexName"]] = index
        self.rebuild(table)
        return reply({"TableDescription": {"TableName": table, "TableStatus": "UPDATING"}})

    async def _describe(self, head: bytes, asked: dict[str, Any]) -> bytes:
        answer = await super().pass_on(*with_body(head, asked))
        indexes = self._indexes.get(asked["TableName"], {})
        if not answer.startswith(b"HTTP/1.1 200") or not indexes:
            return answer
        described = json.loads(answer[answer.index(b"{") : answer.rindex(b"}") + 1])
        looks = self._looks.get(asked["TableName"], 0)
        self._looks[asked["TableName"]] = max(0, looks - 1)
        state: dict[str, Any] = {"IndexStatus": "ACTIVE", **({"Backfilling": True} if looks else {})}
        described["Table"]["VectorIndexes"] = [{**index, **state} for index in indexes.values()]
        return reply(described)

    def _check_index(self, index: Mapping[str, Any], asked: Mapping[str, Any], billing: str | None) -> None:
        if billing != "PAY_PER_REQUEST":
            raise InvalidError("Vector indexes are supported only on tables that use on-demand capacity mode")
        defined = {part["AttributeName"] for part in asked.get("AttributeDefinitions", ())}
        if hash_of(index) not in defined:
            raise InvalidError("One element in SearchSchema is not defined in attribute definitions")

    # Writing.

    def _check_vectors(self, asked: Mapping[str, Any]) -> None:
        """Refuse a write whose vector does not fit an index of its table."""
        for table, name, value in written(asked):
            for index in self._indexes.get(table, {}).values():
                if index["VectorAttribute"]["AttributeName"] == name:
                    numbers(value, index["Dimensions"])


def numbers(value: Mapping[str, Any], dimensions: int | None = None) -> list[float]:
    """Return a vector, of this length if one is given."""
    parts: Sequence[Mapping[str, str]] = value.get("L", ())
    if not parts or any(set(part) != {"N"} for part in parts):
        raise InvalidError("Invalid type for parameter: a vector is a list of numbers")
    if dimensions not in (None, len(parts)):
        raise InvalidError(f"the vector has {len(parts)} dimensions, the index has {dimensions}")
    return [float(part["N"]) for part in parts]


def distance(one: Sequence[float], other: Sequence[float]) -> float:
    """Return the cosine distance, from 0 to 2."""
    lengths = math.hypot(*one) * math.hypot(*other)
    return 1.0 - sum(a * b for a, b in zip(one, other, strict=True)) / lengths if lengths else 1.0


def hash_of(index: Mapping[str, Any]) -> str:
    parts = {part["SearchSchemaElementType"]: part["AttributeName"] for part in index.get("SearchSchema", ())}
    return parts["HASH"]


def written(asked: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Yield the table, the name and the value of every attribute that a request writes."""
    for write in asked.get("TransactItems", ()):
        for part in write.values():
            yield from written(part)
    table = asked.get("TableName", "")
    for name, value in asked.get("Item", {}).items():
        yield table, name, value
    if "UpdateExpression" in asked:
        for placeholder, name in asked.get("ExpressionAttributeNames", {}).items():
            value = asked.get("ExpressionAttributeValues", {}).get(f":{placeholder[1:]}")
            if value is not None:
                yield table, name, value


def without(definitions: Sequence[Mapping[str, str]], name: str) -> list[Mapping[str, str]]:
    return [part for part in definitions if part["AttributeName"] != name]


def with_body(head: bytes, asked: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """Return the request with another body."""
    body = json.dumps(asked).encode()
    return re.sub(rb"(?i)content-length: *\d+", b"Content-Length: %d" % len(body), head), body
