"""A proxy before DynamoDB Local that asks for the units of every request, and adds them up."""

import http.client
import json
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from tests.bench.counting import WRITES


class Meter:
    """Requests and units so far, by what was going on when they were asked for."""

    def __init__(self, endpoint: str) -> None:
        self.endpoint = endpoint
        self.phase = "start"
        self.requests: Counter[str] = Counter()
        self.units: Counter[tuple[str, str]] = Counter()
        self._lock = threading.Lock()

    def note(self, operation: str, answer: bytes) -> None:
        kind = "write" if operation in WRITES else "read"
        consumed: Any = json.loads(answer or b"{}").get("ConsumedCapacity", ())
        parts: list[Mapping[str, Any]] = consumed if isinstance(consumed, list) else [consumed] if consumed else []
        with self._lock:
            self.requests[self.phase] += 1
            self.units[self.phase, kind] += sum(part.get("CapacityUnits", 0.0) for part in parts)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    meter: Meter
    behind: tuple[str, int]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def setup(self) -> None:
        super().setup()
        self._behind = http.client.HTTPConnection(*self.server.behind)

    def finish(self) -> None:
        self._behind.close()
        super().finish()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        operation = self.headers["X-Amz-Target"].rpartition(".")[2]
        # The signature no longer fits; this engine does not look at it.
        body = json.dumps({**asked, "ReturnConsumedCapacity": "INDEXES"})
        named = {name: value for name, value in self.headers.items() if name not in ("Content-Length", "Host")}
        self._behind.request("POST", self.path, body, named)
        answer = self._behind.getresponse()
        data = answer.read()
        self.server.meter.note(operation, data if answer.status == 200 else b"{}")
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.getheader("Content-Type") or "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        pass


@contextmanager
def metered(endpoint: str) -> Iterator[Meter]:
    """Stand before the endpoint for as long as the block lasts."""
    behind = urlsplit(endpoint)
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.behind = (behind.hostname or "127.0.0.1", behind.port or 80)
        server.meter = Meter(f"http://127.0.0.1:{server.server_port}")
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server.meter
        server.shutdown()
