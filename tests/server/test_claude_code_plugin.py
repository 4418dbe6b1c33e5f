"""The plugin for Claude Code: its files fit together, and its hooks do what they promise against the real server."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_memory_server import Scope, Settings, open_memory
from mcp_memory_server.server.hook_tools import hook_tools

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "integrations" / "claude-code"
SESSION = "e80488e8-4208-49aa-8c76-c82d0ad1595b"

# Two lines of a prompt and its answer as Claude Code 2.1 writes them, a reminder, a tool result and a sidechain.
TRANSCRIPT: list[dict[str, Any]] = [
    {"type": "queue-operation", "operation": "enqueue", "timestamp": "2026-11-19T02:20:47.296Z"},
    {
        "type": "user",
        "isSidechain": False,
        "promptId": "23f5ff9c",
        "message": {"role": "user", "content": "We deploy with Nomad since May."},
        "timestamp": "2026-11-19T02:20:49.701Z",
    },
    {
        "type": "assistant",
        "isSidechain": False,
        "message": {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "Bash", "input": {}}]},
        "timestamp": "2026-11-19T02:20:50.100Z",
    },
    {
        "type": "user",
        "isSidechain": False,
        "promptId": "23f5ff9c",
        "message": {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "secret"}]},
        "timestamp": "2026-11-19T02:20:50.200Z",
    },
    {
        "type": "assistant",
        "isSidechain": True,
        "message": {"role": "assistant", "content": [{"type": "text", "text": "A helper's answer."}]},
        "timestamp": "2026-11-19T02:20:50.300Z",
    },
    {
        "type": "assistant",
        "isSidechain": False,
        "message": {"role": "assistant", "content": [{"type": "text", "text": "Noted: Nomad."}]},
        "timestamp": "2026-11-19T02:20:50.334Z",
    },
]


def hooks_of_type(kind: str) -> list[dict[str, Any]]:
    events: dict[str, list[dict[str, Any]]] = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]
    groups = [group for groups in events.values() for group in groups]
    return [hook for group in groups for hook in group["hooks"] if hook["type"] == kind]


def run_hook(event_name: str, event: dict[str, Any], table: Path, *more: str) -> str:
    """Run the command of a hook as Claude Code does, with this installation in the place of the published one."""
    (command,) = [hook["command"] for hook in hooks_of_type("command") if hook["command"].endswith(event_name)]
    arguments = shlex.split(command)[2:]
    done = subprocess.run(
        [sys.executable, "-m", "mcp_memory_server", *arguments, *more],
        input=json.dumps(event),
        env={**os.environ, "MCP_MEMORY_TABLE": f"sqlite://{table}", "MCP_MEMORY_USER": "ana"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


async def remember(table: Path, text: str) -> None:
    from mcp_memory_server import Statement

    async with open_memory(Settings(table=f"sqlite://{table}")) as memory:
        await memory.facts.learn(Scope("ana"), Statement(text))


async def stored_turns(table: Path) -> list[tuple[str, str]]:
    async with open_memory(Settings(table=f"sqlite://{table}")) as memory:
        loaded = await memory.conversations.load(Scope("ana", SESSION))
        return [(turn.role.value, turn.content) for turn in loaded.turns]


def test_the_plugin_names_one_server_everywhere() -> None:
    manifest = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    marketplace = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    (server,) = json.loads((PLUGIN / ".mcp.json").read_text())["mcpServers"]
    (listed,) = marketplace["plugins"]

    assert (listed["name"], ROOT / listed["source"]) == (manifest["name"], PLUGIN)
    assert {hook["server"] for hook in hooks_of_type("mcp_tool")} == {f"plugin:{manifest['name']}:{server}"}
    for command in (PLUGIN / "commands").glob("*.md"):
        named = re.findall(r"mcp__(\w[\w-]*?)__", command.read_text())
        assert set(named) == {f"plugin_{manifest['name']}_{server}"}, command.name


def test_the_hooks_call_tools_that_exist_with_arguments_they_take() -> None:
    known: dict[str, set[str]] = {tool.name: set(tool.input_schema["properties"]) for tool in hook_tools()}
    called = hooks_of_type("mcp_tool")

    assert {hook["tool"] for hook in called} == set(known)
    assert [hook["tool"] for hook in called if not set(hook["input"]) <= known[hook["tool"]]] == []


@pytest.mark.anyio
async def test_a_session_starts_with_the_page_unless_it_is_continued(tmp_path: Path) -> None:
    await remember(tmp_path / "memory.db", "Ana's name is Ana Silva.")

    started, resumed = [
        run_hook("session-start", {"session_id": SESSION, "source": source}, tmp_path / "memory.db")
        for source in ("startup", "resume")
    ]

    output = json.loads(started)["hookSpecificOutput"]
    assert output["hookEventName"] == "SessionStart"
    assert "Ana Silva" in output["additionalContext"]
    assert resumed == ""


def test_a_session_starts_with_nothing_where_nothing_is_known(tmp_path: Path) -> None:
    assert run_hook("session-start", {"session_id": SESSION, "source": "startup"}, tmp_path / "memory.db") == ""
    assert not (tmp_path / "memory.db").exists()


@pytest.mark.anyio
async def test_the_end_of_a_session_stores_what_the_hooks_missed_and_nothing_twice(tmp_path: Path) -> None:
    transcript, table = tmp_path / "transcript.jsonl", tmp_path / "memory.db"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in TRANSCRIPT) + '{"type": "user", "mess')
    event = {"session_id": SESSION, "transcript_path": str(transcript), "reason": "other"}

    for _ in range(2):
        run_hook("session-end", event, table, "--wait")

    assert await stored_turns(table) == [("user", "We deploy with Nomad since May."), ("assistant", "Noted: Nomad.")]
    started = json.loads(run_hook("session-start", {"session_id": "next", "source": "startup"}, table))
    assert "Nomad" in started["hookSpecificOutput"]["additionalContext"]


@pytest.mark.anyio
async def test_the_end_of_a_session_does_not_keep_the_agent_waiting(tmp_path: Path) -> None:
    transcript, table = tmp_path / "transcript.jsonl", tmp_path / "memory.db"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in TRANSCRIPT))

    printed = run_hook("session-end", {"session_id": SESSION, "transcript_path": str(transcript)}, table)

    assert printed == ""


def test_a_hook_without_an_event_says_what_it_reads() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mcp_memory_server", "hook", "session-start"],
        input="no json",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert "JSON object" in done.stderr
