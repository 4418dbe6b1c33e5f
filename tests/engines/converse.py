"""A service on this machine that answers `Converse` of Bedrock with a script, and keeps what it was sent."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

Answer = str | tuple[str, dict[str, Any]]
"""A text, or a tool that is called with these arguments."""


@dataclass
class ConverseService:
    """Where it is, and the requests that it got."""

    endpoint: str
    script: Sequence[Answer]
    requests: list[Mapping[str, Any]] = field(default_factory=list)

    def answer(self, body: bytes) -> bytes:
        number = len(self.requests)
        self.requests.append(json.loads(body))
        said = self.script[min(number, len(self.script) - 1)]
        is_text = isinstance(said, str)
        block: Any = {"text": said}
        if not is_text:
            block = {"toolUse": {"toolUseId": f"call-{number}", "name": said[0], "input": said[1]}}
        reply = {
            "output": {"message": {"role": "assistant", "content": [block]}},
            "stopReason": "end_turn" if is_text else "tool_use",
            "usage": {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2},
            "metrics": {"latencyMs": 1},
        }
        return json.dumps(reply).encode()


@contextmanager
def converse_service(*script: Answer) -> Iterator[ConverseService]:
    """Run the service while the block runs."""
    service = ConverseService("", script)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = service.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name there
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
