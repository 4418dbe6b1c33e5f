"""Whatever a client uses as the standard streams of the server, it is answered, and nothing else reaches it."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from mcp_memory_server.server.standard_streams import LONGEST_LINE
from tests.server.processes import COMMAND, environment
from tests.server.test_stdio import HELLO, request

SECONDS = 30
GREETING = request(0, "initialize", **HELLO)
READY = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
CHATTY = """
import os, subprocess, sys
from mcp_memory_server.tools import arguments
ask = arguments.moment_from
def chatty(text, name):
    print("printed by mistake", flush=True)
    subprocess.run(["echo", "said by a child"])
    os.write(1, b"written by mistake")
    return ask(text, name)
arguments.moment_from = chatty
from mcp_memory_server.cli import main
sys.exit(main())
"""


@dataclass(frozen=True)
class Attached:
    """A server, with the ends of its streams that are the client's."""

    process: subprocess.Popen[bytes]
    to_server: IO[bytes]
    from_server: IO[bytes]

    def ask(self, line: str) -> dict[str, object]:
        self.say(line)
        return json.loads(self.from_server.readline())

    def say(self, line: str) -> None:
        self.to_server.write(line.encode() + b"\n")
        self.to_server.flush()


def streams_of(kind: str) -> tuple[int, int, int, int]:
    """Return the server's input and output, then the client's ends of them."""
    if kind == "pipes":
        (its_input, to_server), (from_server, its_output) = os.pipe(), os.pipe()
    else:
        to_server, its_input = (end.detach() for end in socket.socketpair())
        both = (os.dup(to_server), os.dup(its_input)) if kind == "one socket" else socket.socketpair()
        from_server, its_output = (end if isinstance(end, int) else end.detach() for end in both)
    return its_input, its_output, to_server, from_server


@contextmanager
def attached(kind: str, table: Path, command: Sequence[str] = COMMAND) -> Iterator[Attached]:
    """Start the server over pipes, over a socket for each stream as Node does, or over one socket for both."""
    its_input, its_output, to_server, from_server = streams_of(kind)
    with (
        os.fdopen(from_server, "rb") as answers,
        os.fdopen(to_server, "wb") as questions,
        subprocess.Popen(
            command, env=environment(table), stdin=its_input, stdout=its_output, stderr=subprocess.PIPE
        ) as process,
    ):
        os.close(its_input)
        os.close(its_output)
        try:
            yield Attached(process, questions, answers)
        finally:
            process.kill()


@pytest.mark.parametrize("kind", ["pipes", "two sockets", "one socket"])
def test_a_client_is_answered_over_any_kind_of_stream(memory_file: Path, kind: str) -> None:
    with attached(kind, memory_file) as server:
        assert server.ask(GREETING)["id"] == 0
        server.say(READY)
        saved = server.ask(request(1, "tools/call", name="remember_fact", arguments={"fact": "Ana has a cat. " * 500}))
        told = server.ask(request(2, "tools/call", name="load_context", arguments={}))

    assert (saved["id"], told["id"]) == (1, 2)


def test_a_file_of_requests_is_answered_into_a_file(memory_file: Path, tmp_path: Path) -> None:
    asked, answered = tmp_path / "asked", tmp_path / "answered"
    asked.write_text("\n".join([GREETING, READY, request(1, "tools/list"), ""]), encoding="utf-8")

    with asked.open() as given, answered.open("w") as taken:
        code = subprocess.run(
            COMMAND, env=environment(memory_file), stdin=given, stdout=taken, timeout=SECONDS
        ).returncode

    assert code == 0
    assert 0 in [json.loads(line)["id"] for line in answered.read_text(encoding="utf-8").splitlines()]


def test_errors_that_share_the_output_are_written_there_whole(memory_file: Path) -> None:
    loud = {**environment(memory_file), "MCP_MEMORY_LOG_LEVEL": "DEBUG"}
    lines = "\n".join([GREETING, READY, *(request(number, "tools/list") for number in range(1, 200)), ""])

    done = subprocess.run(
        COMMAND, env=loud, input=lines.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS
    )

    assert done.returncode == 0
    assert b"BlockingIOError" not in done.stdout


def test_what_is_printed_by_mistake_does_not_reach_the_client(memory_file: Path) -> None:
    with attached("pipes", memory_file, [sys.executable, "-c", CHATTY]) as server:
        server.ask(GREETING)
        server.say(READY)
        told = server.ask(request(1, "tools/call", name="recall", arguments={"query": "cat", "as_of": "2026-01-01"}))
        server.to_server.close()
        code = server.process.wait(SECONDS)
        said = server.process.stderr.read() if server.process.stderr else b""

    assert (told["id"], code) == (1, 0)
    assert [said.count(words) for words in (b"printed by mistake", b"said by a child", b"written by")] == [1, 1, 1]


@pytest.mark.parametrize("kind", ["pipes", "two sockets"])
def test_a_client_that_does_not_listen_any_more_has_left(memory_file: Path, kind: str) -> None:
    with attached(kind, memory_file) as server:
        server.ask(GREETING)
        server.say(READY)
        server.from_server.close()
        with suppress(BrokenPipeError):  # it may be gone before all of them are sent
            for number in range(1, 500):
                server.say(request(number, "tools/list"))
        code = server.process.wait(SECONDS)
        with suppress(BrokenPipeError):  # what it did not take any more
            server.to_server.close()
        said = server.process.stderr.read() if server.process.stderr else b""

    assert (code, said) == (0, b"")


def test_a_line_that_is_too_long_is_refused_and_the_next_one_is_read(memory_file: Path) -> None:
    with attached("pipes", memory_file) as server:
        server.ask(GREETING)
        server.say(READY)
        server.say("x" * (LONGEST_LINE + 1000))
        server.say(request(9, "tools/list"))
        answers = [json.loads(server.from_server.readline())]
        while answers[-1].get("id") != 9:
            answers.append(json.loads(server.from_server.readline()))

    assert answers[-1]["result"]["tools"]
