"""Commands that show conversations, chats and calls of tools."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server import Scope, open_memory
from tests.cli.commands import Run

SAID = [
    {"session": "monday", "id": "1", "speaker": "user", "date": "2026-03-02T10:00", "text": "Where is my parcel?"},
    {"session": "monday", "id": "2", "role": "assistant", "date": "2026-03-02T10:05", "text": "It is on its way."},
    {"session": "friday", "id": "1", "speaker": "Gina", "date": "2026-03-06T09:00", "text": "It came!"},
]
ANA = Scope("ana")


@pytest.fixture
def used(run: Run, tmp_path: Path) -> Run:
    """A memory with two conversations, chats with two agents, and calls of tools."""
    (tmp_path / "talk.jsonl").write_text("".join(json.dumps(line) + "\n" for line in SAID))
    run("import", "--transcript", str(tmp_path / "talk.jsonl"))

    async def use() -> None:
        async with open_memory() as memory:
            await memory.chats.create(ANA, "shop", title="Shoes")
            await memory.chats.renew(ANA, "shop", agent_version="2")
            await memory.chats.create(ANA, "travel")
            log = memory.tool_log
            log.record(ANA, "weather", {}, "sunny", duration=timedelta(seconds=1.5))
            log.record(Scope("ana", "monday"), "track", {}, "in transit", duration=timedelta(seconds=1))

    asyncio.run(use())
    return run


def test_sessions_lists_conversations_with_their_length_and_times(used: Run) -> None:
    listed = {one["id"]: one for one in used("sessions", "--json").json}

    assert {name: one["turn_count"] for name, one in listed.items()} == {"friday": 1, "monday": 2}
    assert listed["monday"]["created_at"].startswith("2026-03-02 10:00")
    assert listed["monday"]["last_activity"].startswith("2026-03-02 10:05")
    assert {row[-1] for row in used("sessions").rows} == {"friday", "monday"}


def test_turns_shows_what_was_said(used: Run) -> None:
    rows = used("turns", "monday").rows

    assert [row[1:] for row in rows] == [["user", "Where is my parcel?"], ["assistant", "It is on its way."]]
    assert [turn["content"] for turn in used("turns", "monday", "--limit", "1", "--json").json] == ["It is on its way."]


def test_an_unknown_conversation_is_an_error(used: Run) -> None:
    done = used("turns", "sunday")

    assert done.code == 1
    assert "there is no session 'sunday'; `sessions` lists them" in done.err


def test_chats_lists_the_active_ones_and_the_past_ones_with_an_agent(used: Run) -> None:
    assert {(one["agent"], one["agent_version"]) for one in used("chats", "--json").json} == {
        ("shop", "2"),
        ("travel", None),
    }
    assert [one["title"] for one in used("chats", "shop", "--json").json] == [None, "Shoes"]
    assert len(used("chats").rows) == 2


def test_the_tool_log_lists_calls_of_all_conversations_or_of_one(used: Run) -> None:
    assert [call["name"] for call in used("tool-log", "--json").json] == ["track", "weather"]
    assert [call["name"] for call in used("tool-log", "monday", "--json").json] == ["track"]
    assert used("tool-log", "--limit", "1").rows[0][-1] == "in transit"


@pytest.mark.parametrize("command", [["sessions"], ["chats"], ["tool-log"]])
def test_a_memory_without_any_lists_nothing(run: Run, empty_table: Path, command: list[str]) -> None:
    assert run(*command, "--json").json == []
    assert run(*command).code == 0
