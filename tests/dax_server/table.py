"""The table behind the cluster: DynamoDB's own protocol, as an engine on this machine speaks it."""

import http.client
import json
import threading
from collections import Counter
from typing import Any
from urllib.parse import urlsplit

from tests.dax_server.keys import KeySchema

_SECONDS = 60
_SIGNED_BY_NOBODY = (
    "AWS4-HMAC-SHA256 Credential=testing/20260101/{}/dynamodb/aws4_request, SignedHeaders=host, Signature=0"
)


class TableError(Exception):
    """What DynamoDB answered instead: the name of the error, its words, and why a transaction was cancelled."""

    def __init__(self, status: int, answer: dict[str, Any]) -> None:
        self.status = status
        self.code = str(answer.get("__type", "InternalServerError")).rpartition("#")[2]
        self.words = str(answer.get("message") or answer.get("Message") or "")
        self.reasons: list[dict[str, Any]] = answer.get("CancellationReasons", [])
        super().__init__(self.code)


class Table:
    """Sends requests, over one connection for each thread. Nothing is signed: local engines do not look."""

    def __init__(self, endpoint: str, region: str, counts: Counter[str]) -> None:
        self._address = urlsplit(endpoint)
        self._headers = {
            "Content-Type": "application/x-amz-json-1.0",
            "Authorization": _SIGNED_BY_NOBODY.format(region),
        }
        self._counts = counts
        self._connections = threading.local()
        self._schemas: dict[str, KeySchema] = {}

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return DynamoDB's answer.

        Raises:
            TableError: It is an error.
        """
        self._counts[f"table.{operation}"] += 1
        status, body = self._send(operation, json.dumps(request))
        answer = json.loads(body)
        if status != http.client.OK:
            raise TableError(status, answer)
        return answer

    def schema(self, table: str) -> KeySchema:
        """Return what the table's key is made of."""
        if table not in self._schemas:
            described = self.call("DescribeTable", {"TableName": table})["Table"]
            types = {part["AttributeName"]: part["AttributeType"] for part in described["AttributeDefinitions"]}
            names = [part["AttributeName"] for part in sorted(described["KeySchema"], key=lambda part: part["KeyType"])]
            self._schemas[table] = KeySchema(tuple((name, types[name]) for name in names))
        return self._schemas[table]

    def _send(self, operation: str, body: str) -> tuple[int, bytes]:
        headers = {**self._headers, "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        for is_last in (False, True):
            connection = self._connection(anew=is_last)
            try:
                connection.request("POST", "/", body, headers)
                response = connection.getresponse()
                return response.status, response.read()
            except (http.client.RemoteDisconnected, ConnectionError):  # it was idle for too long
                if is_last:
                    raise
        raise AssertionError("unreachable")

    def _connection(self, *, anew: bool) -> http.client.HTTPConnection:
        connection = getattr(self._connections, "one", None)
        if connection is None or anew:
            connection = http.client.HTTPConnection(self._address.hostname or "", self._address.port, timeout=_SECONDS)
            self._connections.one = connection
        return connection
