"""A service on this machine that answers as Bedrock does when it is asked for embeddings.

It is as strict as the service is documented to be, and places texts by the words in them. What moto has under this name
answers every question with nothing.
"""

import json
import math
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote

TITAN = "amazon.titan-embed-text-v2:0"
COHERE = "cohere.embed-multilingual-v3"
COHERE_4 = "eu.cohere.embed-v4:0"

MAX_TITAN_TOKENS = 8_192
MAX_COHERE_TEXTS = 96
MAX_COHERE_CHARACTERS = 2_048

JSON = "application/json"


class RefusalError(Exception):
    """What the service answers instead of vectors: the status, the name of the error, and its words."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.message = message


def invalid(message: str) -> RefusalError:
    return RefusalError(400, "ValidationException", message)


@dataclass
class BedrockService:
    """Where it is, what it was asked, and what it answers instead of what it would, if that is set."""

    endpoint: str
    asked: list[Mapping[str, Any]] = field(default_factory=list)
    instead: Callable[[], bytes] | None = None

    def answer(self, path: str, body: bytes) -> bytes:
        question = json.loads(body)
        self.asked.append(question)
        if self.instead is not None:
            return self.instead()
        model_id = unquote(path.removeprefix("/model/").removesuffix("/invoke"))
        answers = {TITAN: titan, COHERE: cohere, COHERE_4: cohere_4}
        if model_id not in answers:
            raise invalid("The provided model identifier is invalid.")
        return json.dumps(answers[model_id](question)).encode()


def titan(question: Mapping[str, Any]) -> dict[str, Any]:
    only(question, "inputText", "dimensions", "normalize", "embeddingTypes")
    text, dimensions = question["inputText"], question.get("dimensions", 1024)
    if dimensions not in (256, 512, 1024):
        raise invalid("Malformed input request: #/dimensions: is not a valid enum value")
    if not text:
        raise invalid("Malformed input request: expected minLength: 1, actual: 0, please reformat your input")
    # As many as characters, which is about true of Chinese.
    if len(text) > MAX_TITAN_TOKENS:
        raise invalid(f"400 Bad Request: Too many input tokens. Max input tokens: 8192, request: {len(text)}")
    numbers = placed(text, dimensions)
    return {"embedding": numbers, "inputTextTokenCount": len(text), "embeddingsByType": {"float": numbers}}


def cohere(question: Mapping[str, Any]) -> dict[str, Any]:
    only(question, "texts", "input_type", "truncate", "embedding_types")
    check_cohere(question, {"NONE", "START", "END"})
    if any(len(text) > MAX_COHERE_CHARACTERS for text in question["texts"]):
        raise invalid("Malformed input request: #/texts/0: expected maxLength: 2048, please reformat your input")
    vectors = [placed(text, 1024, question["input_type"]) for text in question["texts"]]
    return {"id": "1", "embeddings": vectors, "response_type": "embeddings_floats", "texts": question["texts"]}


def cohere_4(question: Mapping[str, Any]) -> dict[str, Any]:
    only(question, "texts", "input_type", "truncate", "embedding_types", "output_dimension", "max_tokens")
    check_cohere(question, {"NONE", "LEFT", "RIGHT"})
    dimensions = question.get("output_dimension", 1536)
    vectors = [placed(text, dimensions, question["input_type"]) for text in question["texts"]]
    return {"id": "1", "embeddings": {"float": vectors}, "response_type": "embeddings_by_type"}


def only(question: Mapping[str, Any], *known: str) -> None:
    if unknown := question.keys() - set(known):
        raise invalid(f"Malformed input request: #: extraneous key {unknown} is not permitted")


def check_cohere(question: Mapping[str, Any], cuts: set[str]) -> None:
    if not 0 < len(question["texts"]) <= MAX_COHERE_TEXTS or not all(question["texts"]):
        raise invalid("Malformed input request: #/texts: expected 1 to 96 texts, none of them empty")
    if question["input_type"] not in {"search_document", "search_query"} or question["truncate"] not in cuts:
        raise invalid("Malformed input request: is not a valid enum value")


def placed(text: str, dimensions: int, kind: str = "") -> list[float]:
    """Return a vector of unit length that has a direction for each word."""
    numbers = [0.0] * dimensions
    for word in [kind, *text.lower().split()]:
        for letter in range(4):
            numbers[zlib.crc32(f"{letter}{word}".encode()) % dimensions] += 1.0
    length = math.hypot(*numbers)
    return [number / length for number in numbers]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    service: BedrockService


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Authorization"].startswith("AWS4-HMAC-SHA256 ")
        assert (self.headers["Content-Type"], self.headers["Accept"]) == (JSON, JSON)
        try:
            self._send(200, self.server.service.answer(self.path, body))
        except RefusalError as refusal:
            self._send(refusal.status, json.dumps({"message": refusal.message}).encode(), refusal.code)

    def _send(self, status: int, body: bytes, code: str = "") -> None:
        self.send_response(status)
        self.send_header("Content-Type", JSON)
        self.send_header("Content-Length", str(len(body)))
        if code:
            self.send_header("x-amzn-ErrorType", code)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the library's
        pass


@contextmanager
def bedrock_service() -> Iterator[BedrockService]:
    """Run the service on a free port of this machine."""
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.service = BedrockService(f"http://127.0.0.1:{server.server_port}")
        thread = Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server.service
        server.shutdown()
        thread.join()
