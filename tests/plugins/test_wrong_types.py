"""An argument of a wrong type is refused where it is passed, with one line that shows a right one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from agent_squad.utils import AgentTool

from agent_plugins import (
    CircuitBreaker,
    GuardRules,
    Guards,
    RedisCircuits,
    StatusFile,
    Tool,
    ToolRegistry,
    begin_task,
    enter_phase,
    escalate,
    fill_slot,
    need_slots,
    plan_step,
    split_budget,
    start_step,
)
from agent_plugins.agent_squad import GuardedTools, MemoryChatStorage, MemorySquad
from agent_plugins.strands import MemoryPlugin, MemoryStore, SessionStorage, for_user
from mcp_memory_server import InvalidRequestError, Settings
from tests.plugins.agent_squad.conftest import ByName


def search(title: str) -> str:
    """Search the catalogue."""
    return title


def plugin(*arguments: Any, **more: Any) -> MemoryPlugin:
    return MemoryPlugin(*(arguments or ("ana",)), **{"memory": Settings(table="sqlite::memory:"), **more})


def squad(**more: Any) -> MemorySquad:
    return MemorySquad(classifier=ByName(), memory=Settings(table="sqlite::memory:"), **more)


def guarded(tools: Any, **more: Any) -> GuardedTools:
    return GuardedTools(tools, **more)


WRONG: list[Callable[[], object]] = [
    lambda: plugin(42),
    lambda: plugin(memory=42),
    lambda: plugin(memory="sqlite:///memory.db"),
    lambda: plugin(max_tokens="800"),
    lambda: plugin(tools=[print]),
    lambda: plugin(tools=Tool("search")),
    lambda: plugin(tool_seconds="5"),
    lambda: plugin(task_seconds="5"),
    lambda: plugin(guard_rules=5),
    lambda: plugin(offer_tools="no"),
    lambda: plugin(preferences_in_system_prompt="no"),
    lambda: plugin().attach("agent"),  # type: ignore[arg-type]
    lambda: plugin().coordinator("ana"),  # type: ignore[arg-type]
    lambda: for_user(42),  # type: ignore[arg-type]
    lambda: MemoryStore(42),  # type: ignore[arg-type]
    lambda: SessionStorage(42),  # type: ignore[arg-type]
    lambda: squad(guard_rules=5),
    lambda: squad(task_seconds="5"),
    lambda: squad(tools=[print]),
    lambda: squad().add_agent("orders"),  # type: ignore[arg-type]
    lambda: squad().remembering("orders"),  # type: ignore[arg-type]
    lambda: squad().coordinator(42, "chat-7"),  # type: ignore[arg-type]
    lambda: squad().coordinator("ana", None),  # type: ignore[arg-type]
    lambda: MemoryChatStorage(42),  # type: ignore[arg-type]
    lambda: guarded([print]),
    lambda: guarded("search"),
    lambda: guarded([AgentTool("search", func=search)], registry=[Tool("search")]),
    lambda: guarded([AgentTool("search", func=search)], tool_seconds="5"),
    lambda: CircuitBreaker(5),  # type: ignore[arg-type]
    lambda: CircuitBreaker("search", 5),  # type: ignore[arg-type]
    lambda: ToolRegistry(Tool("search")),  # type: ignore[arg-type]
    lambda: RedisCircuits(5),  # type: ignore[arg-type]
    lambda: Guards(5),  # type: ignore[arg-type]
    lambda: GuardRules(repeats="3"),  # type: ignore[arg-type]
    lambda: StatusFile(42, dict),  # type: ignore[arg-type]
    lambda: StatusFile(Path("1.json"), {}),  # type: ignore[arg-type]
    lambda: split_budget("state", 600),  # type: ignore[arg-type]
    lambda: fill_slot(5, "x"),  # type: ignore[arg-type]
    lambda: need_slots(["size", "colour"]),  # type: ignore[arg-type]
    lambda: enter_phase("slots"),
    lambda: escalate(5),  # type: ignore[arg-type]
    lambda: begin_task("order", budget="60"),  # type: ignore[arg-type]
    lambda: plan_step(5),  # type: ignore[arg-type]
    lambda: start_step("pay", timeout="5"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize("wrong", WRONG, ids=range(len(WRONG)))
def test_an_argument_of_a_wrong_type_is_refused_with_a_line_that_shows_a_right_one(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidRequestError, match=r"must be .+, got ") as refused:
        wrong()

    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def test_the_old_names_of_user_and_session_still_work_and_a_mistyped_one_is_refused() -> None:
    assert for_user(user="ana", session="chat-7") == for_user("ana", "chat-7")
    assert plugin(None, user="ana", session="s").coordinator().scope == plugin("ana", "s").coordinator().scope
    with pytest.raises(InvalidRequestError, match="there is no argument 'usr'; the names are user_id and session_id"):
        plugin(None, usr="ana")
    with pytest.raises(InvalidRequestError, match="user is the old name of user_id: pass one of them"):
        plugin("ana", user="ben")
