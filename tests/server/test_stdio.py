"""Over standard input and output, as a desktop client starts the server."""

import json
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.server.asking import ERAS, FIVE_TOOLS, LISBON, Era, ask, use_all_five
from tests.server.processes import COMMAND, environment, over_stdio

pytestmark = pytest.mark.anyio

SECONDS = 30
LAST = 9
HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a client of its own", "version": "1"},
}


def request(number: int, method: str, **parameters: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})


def start(table: Path) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen(COMMAND, env=environment(table), stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def converse(table: Path, lines: list[str]) -> tuple[list[dict[str, Any]], int, str]:
    """Shake hands, send the lines, wait for the answer to number 9, and close the stream.

    Returns the answers, the exit code, and what was said on standard error.
    """
    greeting = [request(0, "initialize", **HELLO), '{"jsonrpc":"2.0","method":"notifications/initialized"}']
    answers: list[dict[str, Any]] = []
    with start(table) as server:
        assert server.stdin
        assert server.stdout
        assert server.stderr
        # Beside the reading, or both sides could wait for each other with full pipes.
        writing = threading.Thread(
            target=print, args=("\n".join([*greeting, *lines]),), kwargs={"file": server.stdin, "flush": True}
        )
        writing.start()
        while not answers or answers[-1].get("id") != LAST:
            answers.append(json.loads(server.stdout.readline()))
        writing.join()
        rest, said = server.communicate(timeout=SECONDS)
    return [*answers, *map(json.loads, rest.splitlines())], server.returncode, said


@pytest.mark.parametrize("era", ERAS)
async def test_all_five_tools_work(memory_file: Path, era: Era) -> None:
    async with Client(over_stdio(memory_file), mode=era) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == FIVE_TOOLS
        await use_all_five(client, "bicycle")


async def test_what_one_process_learned_the_next_one_knows(memory_file: Path) -> None:
    async with Client(over_stdio(memory_file)) as client:
        await ask(client, "remember_fact", **LISBON)

    async with Client(over_stdio(memory_file)) as client:
        assert "Ana lives in Lisbon." in (await ask(client, "load_context"))["context"]


async def test_two_users_of_one_file_do_not_see_each_other(memory_file: Path) -> None:
    async with Client(over_stdio(memory_file, "ana")) as ana, Client(over_stdio(memory_file, "bo")) as bo:
        await ask(ana, "remember_fact", **LISBON)
        await ask(bo, "remember_fact", fact="Bo lives in Lisbon.")

        of_ana = (await ask(ana, "recall", query="Lisbon"))["memories"]
        of_bo = (await ask(bo, "recall", query="Lisbon"))["memories"]

    assert [memory["text"] for memory in of_ana] == ["Ana lives in Lisbon."]
    assert [memory["text"] for memory in of_bo] == ["Bo lives in Lisbon."]


def test_nothing_but_the_protocol_is_on_the_output_and_closing_the_input_ends_it_well(memory_file: Path) -> None:
    answers, code, said = converse(memory_file, [request(LAST, "tools/call", name="load_context", arguments={})])

    assert [answer["id"] for answer in answers] == [0, LAST]
    assert {answer["jsonrpc"] for answer in answers} == {"2.0"}
    assert (code, said) == (0, "")


def test_broken_lines_do_not_end_the_server(memory_file: Path) -> None:
    broken = ["{", "null", "[]", '"text"', '{"jsonrpc": "1.0"}', "\x00\x01", "[" * 10_000, request(1, "no/such/method")]

    answers, code, _ = converse(memory_file, [*broken, request(LAST, "tools/list")])

    (listed,) = [answer["result"]["tools"] for answer in answers if answer.get("id") == LAST]
    assert [tool["name"] for tool in listed] == FIVE_TOOLS
    assert code == 0


def test_an_oversized_argument_is_refused_and_the_next_call_works(memory_file: Path) -> None:
    large = request(1, "tools/call", name="remember_fact", arguments={"fact": "x" * 10_000_000})
    small = request(LAST, "tools/call", name="remember_fact", arguments={"fact": "Ana has a cat."})

    answers, _, _ = converse(memory_file, [large, small])

    results = {answer["id"]: answer["result"] for answer in answers}
    assert "at most 8,192 bytes" in results[1]["structuredContent"]["message"]
    assert results[LAST]["structuredContent"]["outcome"] == "learned"


def test_interrupting_it_ends_it_at_once_although_its_input_is_open(memory_file: Path) -> None:
    with start(memory_file) as server:
        assert server.stdin
        assert server.stdout
        assert server.stderr
        print(request(0, "initialize", **HELLO), file=server.stdin, flush=True)
        server.stdout.readline()

        server.send_signal(signal.SIGINT)

        assert server.wait(SECONDS) == 130
        assert server.stderr.read() == ""
