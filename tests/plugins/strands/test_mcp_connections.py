"""A dead MCP server: its client is connected again by the probe of the circuit, and by nothing else."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from mcp import StdioServerParameters
from mcp.client.stdio import stdio_client
from strands.tools.mcp import MCPClient

from agent_plugins.breakers.circuit_rules import BreakerRules
from agent_plugins.breakers.tool_registry import Tool, ToolRegistry
from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin
from examples.scripted_model import call
from tests.plugins import shop_server
from tests.plugins.fake_monotonic import FakeMonotonic
from tests.plugins.strands.conftest import agent_with, model_of


@pytest.fixture
def dies(tmp_path: Path) -> Path:
    return tmp_path / "dies"


@pytest.fixture
def client(dies: Path) -> Iterator[MCPClient]:
    arguments = [str(Path(shop_server.__file__)), str(dies)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    with MCPClient(lambda: cast("Any", stdio_client(parameters))) as client:
        yield client


def test_the_probe_connects_a_dead_server_again_and_other_calls_are_refused_until_then(
    shared: SharedMemory, client: MCPClient, dies: Path, monotonic: FakeMonotonic
) -> None:
    registry = ToolRegistry([Tool("price", rules=BreakerRules(threshold=2, rest=30.0))], monotonic=monotonic)
    plugin = MemoryPlugin("ana", memory=shared, tools=registry)
    prices = [call("price", title=f"Book {number}") for number in range(6)]
    script: list[Any] = [*prices[:3], "Closed.", prices[3], "Closed.", *prices[4:], "Here."]
    agent = agent_with(plugin, *script, tools=client.list_tools_sync())
    dies.touch()

    agent("How much?")
    opened = registry.status()["tools"]["price"]["owners"]["shop"]["circuit"]
    monotonic.advance(31)
    agent("And now?")  # the new server dies too
    again = registry.status()["tools"]["price"]["circuit"]["state"]
    dies.unlink()
    monotonic.advance(31)
    agent("And now?")

    assert (opened["state"], opened["failures"], opened["refused"]) == ("open", 2, 1)
    assert again == "open"
    assert "Book 5 costs 9 EUR" in model_of(agent).seen[-1].text
    assert registry.status()["tools"]["price"]["circuit"]["state"] == "closed"


def test_a_server_that_answers_with_errors_is_not_connected_again(
    shared: SharedMemory, client: MCPClient, monotonic: FakeMonotonic
) -> None:
    registry = ToolRegistry([Tool("price", rules=BreakerRules(threshold=1))], monotonic=monotonic)
    plugin = MemoryPlugin("ana", memory=shared, tools=registry)
    script = [call("price", title="nothing"), "None.", call("price", title="Dune"), "Here."]
    agent = agent_with(plugin, *script, tools=client.list_tools_sync())
    thread = client._background_thread

    agent("How much?")
    monotonic.advance(31)
    agent("How much?")

    assert "Dune costs 9 EUR" in model_of(agent).seen[-1].text
    assert client._background_thread is thread


# Strands warns when it stops a client whose thread has ended, here that which could not start.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_that_does_not_come_back_fails_the_probe_and_the_model_reads_why(
    shared: SharedMemory, monotonic: FakeMonotonic, client: MCPClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = ToolRegistry([Tool("price", rules=BreakerRules(threshold=1))], monotonic=monotonic)
    plugin = MemoryPlugin("ana", memory=shared, tools=registry)
    again = [call("price", title="Dune"), "Closed.", call("price", title="Emma"), "Closed."]
    agent = agent_with(plugin, *again, tools=client.list_tools_sync())
    client.stop(None, None, None)

    def gone() -> Any:
        raise FileNotFoundError("the program of the server")

    client._transport_callable = gone
    agent("How much?")
    monotonic.advance(31)
    agent("How much?")

    assert "the MCP server cannot be reached" in model_of(agent).seen[-1].text
    assert registry.status()["tools"]["price"]["circuit"]["state"] == "open"
