"""The hooks for Codex, with events as Codex sends them, run one after the other as in two sessions."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mcp_memory_server import Scope, Settings, Statement, open_memory

ROOT = Path(__file__).parents[2]
HOOKS = json.loads((ROOT / "integrations" / "codex" / "hooks.json").read_text())["hooks"]
SESSION = "019a7c1e-0c1b-7d12-8a43-2f6f5b0c9d10"
COMMON = {"session_id": SESSION, "transcript_path": None, "cwd": "/repo", "model": "gpt", "permission_mode": "default"}


def run_hook(event_name: str, table: Path, **event: Any) -> dict[str, Any]:
    """Run the command of a hook as Codex does, with this installation in the place of the published one."""
    ((hook,),) = [group["hooks"] for group in HOOKS[event_name]]
    done = subprocess.run(
        [sys.executable, "-m", "mcp_memory_server", *shlex.split(hook["command"])[2:]],
        input=json.dumps({**COMMON, "hook_event_name": event_name, **event}),
        env={**os.environ, "MCP_MEMORY_TABLE": f"sqlite://{table}", "MCP_MEMORY_USER": "ana"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(done.stdout or "{}").get("hookSpecificOutput", {})


@pytest.mark.anyio
async def test_two_sessions_of_codex(tmp_path: Path) -> None:
    table = tmp_path / "memory.db"
    async with open_memory(Settings(table=f"sqlite://{table}")) as memory:
        await memory.facts.learn(Scope("ana"), Statement("Ana's services run on Nomad in Falkenstein."))

    started = run_hook("SessionStart", table, source="startup")
    prompted = run_hook("UserPromptSubmit", table, turn_id="t1", prompt="Where do our services run?")
    short = run_hook("UserPromptSubmit", table, turn_id="t2", prompt="go on")
    answer = {"turn_id": "t1", "stop_hook_active": False, "last_assistant_message": "On Nomad. Shall I add a job?"}
    stopped = run_hook("Stop", table, **answer)
    again = run_hook("Stop", table, **answer)
    next_one = run_hook("SessionStart", table, source="startup", session_id="another")

    assert started["hookEventName"] == "SessionStart"
    assert "Falkenstein" in started["additionalContext"]
    assert prompted["hookEventName"] == "UserPromptSubmit"
    assert "Falkenstein" in prompted["additionalContext"]
    assert short == stopped == again == {}
    assert "Shall I add a job?" in next_one["additionalContext"]
    async with open_memory(Settings(table=f"sqlite://{table}")) as memory:
        loaded = await memory.conversations.load(Scope("ana", SESSION))
    assert [turn.role.value for turn in loaded.turns] == ["user", "user", "assistant"]
