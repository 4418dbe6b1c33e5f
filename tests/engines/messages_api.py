"""The Messages API as far as an agent needs it for one turn: it answers every request with the same words."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class MessagesApi:
    """Its address, what it answers, and the requests that it got."""

    answer: str
    address: str = ""
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])


@contextmanager
def messages_api(answer: str) -> Iterator[MessagesApi]:
    """Serve the API on loopback."""
    api = MessagesApi(answer)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            """Log nothing."""

        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            api.requests.append(request)
            message = {"id": "msg_1", "type": "message", "role": "assistant", "model": request.get("model"),
                       "content": [], "stop_reason": None, "stop_sequence": None,
                       "usage": {"input_tokens": 5, "output_tokens": 5}}  # fmt: skip
            text = {"type": "text", "text": api.answer}
            if request.get("stream"):
                self._head("text/event-stream")
                for event in _events(message, text):
                    self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())
            else:
                self._head("application/json")
                self.wfile.write(json.dumps({**message, "content": [text], "stop_reason": "end_turn"}).encode())

        def _head(self, content_type: str) -> None:
            self.send_response(200)
            self.send_header("content-type", content_type)
            self.end_headers()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    api.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _events(message: dict[str, Any], text: dict[str, str]) -> list[dict[str, Any]]:
    delta = {"type": "text_delta", "text": text["text"]}
    return [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": {**text, "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None},
         "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]  # fmt: skip
