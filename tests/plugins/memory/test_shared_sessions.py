"""Sessions that agents work in: the same for all who ask, and let go of without losing what they share."""

import asyncio
from pathlib import Path

import pytest

from agent_plugins.memory import shared_sessions
from agent_plugins.memory.agent_memory import AgentMemory
from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.memory.shared_sessions import AgentSessions
from agent_plugins.state.changes import fill_slot
from mcp_memory_server import Scope, Settings


def test_a_session_that_was_let_go_of_comes_back_with_its_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_sessions, "MOST_SESSIONS", 2)
    shared = SharedMemory(Settings(table=f"sqlite://{tmp_path}/memory.db"))
    sessions = AgentSessions(AgentMemory(shared))

    first = sessions.of(Scope("ana", "1"))
    first.coordinator.change_now(fill_slot("title", "Dune", confirmed=True))
    assert sessions.of(Scope("ana", "1")) is first
    for number in (2, 3, 4):
        sessions.of(Scope("ana", str(number)))
    again = sessions.of(Scope("ana", "1"))
    prompt = asyncio.run(again.context("clerk"))
    sessions.close()

    assert again is not first
    assert '"title" = "Dune"' in prompt
