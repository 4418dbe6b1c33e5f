"""A person looks at running agents from outside."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from agent_plugins.__main__ import main
from agent_plugins.breakers.circuit_rules import BreakerRules
from agent_plugins.breakers.redis_circuits import RedisCircuits
from agent_plugins.breakers.status_file import StatusFile
from agent_plugins.breakers.tool_registry import Tool, ToolRegistry
from tests.engines.servers import RedisServer

ROOT = Path(__file__).parents[3]


@pytest.fixture
def registry() -> ToolRegistry:
    registry = ToolRegistry([Tool("search\x1b[31m", timeout=5.0), Tool("pay")], rules=BreakerRules(threshold=1))
    registry.begin("pay").failed("no connection")  # type: ignore[union-attr]
    registry.begin("search\x1b[31m", agent="orders")
    return registry


def test_tools_and_calls_of_a_process_are_shown_without_what_a_terminal_would_obey(
    tmp_path: Path, registry: ToolRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    with StatusFile(tmp_path / "status.json", registry.status):
        assert main(["status", "--file", str(tmp_path / "status.json")]) == 0

    shown = capsys.readouterr().out
    assert shown.startswith(f"process {os.getpid()}, ")
    assert re.search(r"^pay +- +unavailable +open +1/1 +1 +1 +0 +0 ", shown, re.MULTILINE)
    assert re.search(r"^[0-9a-f]{12} +search�\[31m +orders ", shown, re.MULTILINE)
    assert "\x1b" not in shown


def test_tools_of_one_name_are_shown_for_each_owner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    registry = ToolRegistry(rules=BreakerRules(threshold=1))
    registry.begin("search", owner="shop").failed("no connection")  # type: ignore[union-attr]
    registry.begin("search", owner="library").succeeded()  # type: ignore[union-attr]

    with StatusFile(tmp_path / "status.json", registry.status):
        main(["status", "--file", str(tmp_path / "status.json")])

    shown = capsys.readouterr().out
    assert re.search(r"^search +shop +unavailable +open ", shown, re.MULTILINE)
    assert re.search(r"^search +library +healthy +closed ", shown, re.MULTILINE)


def test_programs_get_the_same_as_json(
    tmp_path: Path, registry: ToolRegistry, capsys: pytest.CaptureFixture[str]
) -> None:
    with StatusFile(tmp_path / "status.json", registry.status):
        assert main(["status", "--file", str(tmp_path / "status.json"), "--json"]) == 0

    (process,) = json.loads(capsys.readouterr().out)["processes"]
    assert process["tools"]["pay"]["circuit"]["state"] == "open"


def test_a_process_that_ends_takes_its_file_along(tmp_path: Path, registry: ToolRegistry) -> None:
    with StatusFile(tmp_path / "status.json", registry.status):
        pass

    assert list(tmp_path.iterdir()) == []


def test_circuits_that_workers_share_are_shown_from_redis(
    own_redis: RedisServer, capsys: pytest.CaptureFixture[str]
) -> None:
    circuits = RedisCircuits(own_redis.url)
    ToolRegistry(rules=BreakerRules(threshold=1), shared=circuits).begin("pay").failed("no")  # type: ignore[union-attr]
    circuits.close()

    assert main(["status", "--redis", own_redis.url]) == 0

    assert re.search(r"^pay +open ", capsys.readouterr().out, re.MULTILINE)


def test_what_cannot_be_looked_up_is_said_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other.json").write_text("[]")

    assert main(["status", "--file", str(tmp_path / "missing.json")]) == 1
    assert main(["status", "--file", str(tmp_path / "other.json")]) == 1

    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("cannot be read: No such file or directory")
    assert second.endswith("is not a status file of agent_plugins")


def test_the_help_helps_and_nothing_to_look_at_is_an_error() -> None:
    command = [sys.executable, "-m", "agent_plugins", "status"]

    help_page = subprocess.run([*command, "--help"], cwd=ROOT, capture_output=True, text=True, check=True)
    wrong = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert "StatusFile(PATH, registry.status)" in help_page.stdout
    assert (wrong.returncode, "name where to look: --file PATH, --redis URL" in wrong.stderr) == (2, True)
