"""A call that fails for no fault of the caller has an id, in its reply and in the log line that an operator finds."""

import logging
from collections.abc import Iterator

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from mcp_memory_server import Memory, Scope
from mcp_memory_server.errors import NotFoundError, TableUnavailableError
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.call_ids import hashed
from mcp_memory_server.server.identity import always
from mcp_memory_server.server.tool import call_tool
from mcp_memory_server.tools import MemoryTool, Reply, memory_tool
from tests.server.asking import ANA, be_refused

pytestmark = pytest.mark.anyio

SECRET = "Ana's PIN is 4711"


def failing_with(error: Exception) -> MemoryTool:
    @memory_tool("Fail")
    async def fail(memory: Memory, scope: Scope, text: str) -> Reply:
        raise error

    return fail


@pytest.fixture(autouse=True)
def _all_log_lines(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.INFO):
        yield


async def reply_of(memory: Memory, error: Exception) -> Reply:
    result = await call_tool(failing_with(error), memory, always(ANA), {"text": SECRET}, {})
    assert result.is_error
    assert result.structured_content is not None
    return result.structured_content


async def test_a_reply_that_says_unavailable_and_its_log_line_name_the_same_call(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    reply = await reply_of(memory, TableUnavailableError("the table did not answer in time"))

    (line,) = caplog.messages
    assert reply["status"] == "unavailable"
    assert f"call {reply['call_id']}" in line
    assert f"user {hashed(ANA.user_id)}" in line
    assert "TableUnavailableError: the table did not answer in time" in line
    assert SECRET not in line
    assert ANA.user_id not in line.split()


async def test_a_bug_is_found_by_its_id_and_its_text_is_in_no_log(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    reply = await reply_of(memory, ValueError(SECRET))

    (line,) = caplog.messages
    assert f"call {reply['call_id']}" in line
    assert "ValueError" in line
    assert __file__ in line
    assert SECRET not in line
    assert SECRET not in str(reply)


async def test_each_call_has_an_id_of_its_own(memory: Memory) -> None:
    replies = [await reply_of(memory, TableUnavailableError("busy")) for _ in range(2)]

    assert replies[0]["call_id"] != replies[1]["call_id"]


async def test_a_mistake_of_the_caller_has_no_id_and_no_log_line(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    reply = await reply_of(memory, NotFoundError("there is no memory with this id"))

    assert "call_id" not in reply
    assert caplog.messages == []


async def test_a_resource_that_cannot_be_read_names_the_call_too(
    memory: Memory, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unavailable(*_: object) -> None:
        raise TableUnavailableError("the table did not answer in time")

    monkeypatch.setattr(type(memory.facts), "all", unavailable)
    async with Client(build_server(memory, always(ANA))) as client:
        with pytest.raises(MCPError, match=r"did not answer in time \(call \w{8}\)") as refused:
            await client.read_resource("memory://facts")

    call_id = str(refused.value).rpartition("(call ")[2].rstrip(")")
    assert [line for line in caplog.messages if f"call {call_id}" in line] != []


async def test_a_client_sees_the_id(client: Client, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    async def unavailable(*_: object, **__: object) -> None:
        raise TableUnavailableError("the table did not answer in time")

    monkeypatch.setattr(type(memory.recall), "search", unavailable)

    refusal = await be_refused(client, "recall", {"query": "anything"})

    assert len(refusal["call_id"]) == 8
