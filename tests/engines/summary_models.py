"""Services of this machine that answer as Anthropic's Messages and Bedrock's Converse do, with one model behind both.

The model does what a summarizer is asked to: it reads the turns between the marks, and answers in the form that it was
given. It believes what it is told outside of the marks, and nothing that stands between them.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html import unescape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

JSON = "application/json"
ANTHROPIC_MODEL = "claude-haiku-5-5"
BEDROCK_MODEL = "eu.anthropic.claude-haiku-5-5-v1:0"

_TURN = re.compile(r'<turn number="(\d+)" by="(\w+)">(.*?)</turn>')


class RefusalError(Exception):
    """What the service answers instead: a status, the name of the error, and perhaps how long to wait."""

    def __init__(self, status: int, code: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(code)
        self.status, self.code, self.headers = status, code, headers or {}


@dataclass
class ModelService:
    """Where it is, what it was asked, and what happens to the next requests, one after the other, or to all of them."""

    endpoint: str
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    next: list[Callable[[], str | None]] = field(default_factory=list)
    always: Callable[[], str | None] | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def said(self, system: str, text: str) -> str:
        """Return what the model says: what was arranged, or a summary of what stands between the marks."""
        with self.lock:
            arranged = self.next.pop(0) if self.next else self.always
        answer = arranged() if arranged is not None else None
        return summed_up(system, text) if answer is None else answer


def summed_up(system: str, text: str) -> str:
    (mark,) = {*re.findall(r"\[[0-9a-f]{16}\]", system)}
    assert text.startswith(mark)
    assert text.endswith(mark)
    assert text.count(mark) == 2
    turns = [(int(number), role, unescape(said)) for number, role, said in _TURN.findall(text)]
    users = [(number, said) for number, role, said in turns if role == "user"]
    learned = [
        {"fact": f"The user said: {said}", "topic": "", "quote": said, "turn": number, "stated": True}
        for number, said in users
        if "prefer" in said
    ]
    answer = {
        "discussed": [f"They spoke about: {users[0][1][:80]}" if users else "Nothing was said."],
        "preferences": [said for _, said in users if "prefer" in said],
        "unresolved": [said for _, said in users if said.endswith("?")],
        "answered": [],
        "topics": ["testing"],
        "sentiment": "neutral",
        "learned": learned,
    }
    return json.dumps(answer)


def of_anthropic(service: ModelService, path: str, headers: Mapping[str, str], asked: Mapping[str, Any]) -> Any:
    assert path == "/v1/messages"
    assert headers["Authorization"].startswith("Bearer ")
    assert headers["anthropic-version"]
    if asked["model"] != ANTHROPIC_MODEL:
        raise RefusalError(404, "not_found_error")
    assert "temperature" not in asked
    assert asked["output_config"]["format"]["type"] == "json_schema"
    ((message),) = asked["messages"]
    text = service.said(asked["system"], message["content"])
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": _tokens(asked["system"], message["content"]), "output_tokens": _tokens(text)},
    }


def of_bedrock(service: ModelService, path: str, headers: Mapping[str, str], asked: Mapping[str, Any]) -> Any:
    assert headers["Authorization"].startswith("AWS4-HMAC-SHA256 ")
    if unquote(path) != f"/model/{BEDROCK_MODEL}/converse":
        raise RefusalError(400, "ValidationException")
    (tool,) = asked["toolConfig"]["tools"]
    name = tool["toolSpec"]["name"]
    assert asked["toolConfig"]["toolChoice"] == {"tool": {"name": name}}
    ((message),) = asked["messages"]
    system, text = asked["system"][0]["text"], message["content"][0]["text"]
    said = service.said(system, text)
    try:
        content = {"toolUse": {"toolUseId": "t1", "name": name, "input": json.loads(said)}}
    except ValueError:
        content = {"text": said}
    return {
        "output": {"message": {"role": "assistant", "content": [content]}},
        "stopReason": "tool_use",
        "usage": {"inputTokens": _tokens(system, text), "outputTokens": _tokens(said), "totalTokens": 0},
        "metrics": {"latencyMs": 1},
    }


def refuse(status: int, code: str, **headers: str) -> Callable[[], str | None]:
    """Return what refuses a request."""

    def refusing() -> str | None:
        raise RefusalError(status, code, headers)

    return refusing


def _tokens(*texts: str) -> int:
    return sum(len(text) // 3 + 1 for text in texts)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    service: ModelService
    speaks: Callable[[ModelService, str, Mapping[str, str], Mapping[str, Any]], Any]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.service.asked.append(body)
        try:
            answer = self.server.speaks(self.server.service, self.path, dict(self.headers), body)
            self._send(200, json.dumps(answer).encode())
        except RefusalError as refusal:
            error = {"type": "error", "error": {"type": refusal.code, "message": "no"}, "message": "no"}
            self._send(refusal.status, json.dumps(error).encode(), refusal)

    def _send(self, status: int, body: bytes, refusal: RefusalError | None = None) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", JSON)
            self.send_header("Content-Length", str(len(body)))
            for name, value in ({"x-amzn-ErrorType": refusal.code, **refusal.headers} if refusal else {}).items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            self.close_connection = True  # whoever asked did not wait

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        pass


@contextmanager
def model_service(speaks: Callable[..., Any]) -> Iterator[ModelService]:
    """Run the service on a free port of this machine."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.service = ModelService(f"http://127.0.0.1:{server.server_port}")
        server.speaks = speaks
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.service
        server.shutdown()
        thread.join()
