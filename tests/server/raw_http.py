"""A second client, of another make: JSON-RPC over plain HTTP, without a line of the SDK."""

import contextlib
import http.client
import itertools
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

SECONDS = 30
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass(frozen=True)
class Answer:
    status: int
    body: str
    headers: Mapping[str, str]

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)


def send(port: int, body: bytes, *, path: str = "/mcp", method: str = "POST", **headers: str) -> Answer:
    """Send one request on a connection of its own. Headers are given with underscores for hyphens."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    try:
        own = {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # it may answer before it has read all
            connection.request(method, path, body or None, {**HEADERS, **own})
        response = connection.getresponse()
        return Answer(response.status, response.read().decode(), dict(response.getheaders()))
    finally:
        connection.close()


@dataclass
class RawClient:
    """Speaks protocol 2025-06-18, as clients did that still shake hands."""

    port: int
    version: str = "2025-06-18"
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def request(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self.numbers)
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        answer = send(self.port, json.dumps(message).encode(), MCP_Protocol_Version=self.version)
        assert answer.status == 200, answer
        assert answer.json["id"] == number
        return answer.json["result"]

    def shake_hands(self) -> dict[str, Any]:
        about = {"name": "raw", "version": "1"}
        welcome = self.request("initialize", protocolVersion=self.version, capabilities={}, clientInfo=about)
        done = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
        assert send(self.port, done, MCP_Protocol_Version=self.version).status == 202
        return welcome

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        result = self.request("tools/call", name=tool, arguments=arguments)
        assert not result["isError"], result
        return result["structuredContent"]
