"""No value of any argument ends in an internal error, and whatever is accepted can be stored and read again."""

import json
from itertools import count
from typing import Any

import pytest

from mcp_memory_server import Memory, Scope
from mcp_memory_server.errors import MemoryServerError, TableDamagedError, UnavailableError
from mcp_memory_server.server.conversation_tools import CONVERSATION_TOOLS
from mcp_memory_server.tools import MEMORY_TOOLS, MemoryTool

pytestmark = pytest.mark.anyio

TOOLS = {tool.name: tool for tool in (*MEMORY_TOOLS, *CONVERSATION_TOOLS)}
SURROGATE = "a\ud83d"


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = {"a": [value]}
    return value


ODD_NUMBERS = (0, -1, 1.5, 1e308, 1e-200, -1e-200, 1e-320, 2**63, 2**64, 10**39, 10**400, float("nan"), float("inf"))
ODD_TEXTS = (
    *(
        "",
        " ",
        SURROGATE,
        "a\0b",
        "\x1b",
        "x" * 129,
        "é" * 3000,
        "#",
        "~META",
        "TURN#",
        "TURN#zzz",
        f"TURN#{SURROGATE}",
    ),
    *("nan", "1e400", "9" * 5000, "[1", "[" * 50_000, f"[{'9' * 5000}]", "²", "٢٠٢٦"),
    *("0001", "9999", "0000", "2026-13", "0001-01-01", "9999-12-31", "1960-01-01T00:00:00Z", "9000-01-01T00:00:00Z"),
    *("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59", '["a", "TURN#", 1]', f'["{SURROGATE}", "b", "c"]'),
)
ODD_DATA = (
    *(
        nested(100),
        nested(3000),
        [nested(3000)],
        {"": 1},
        {SURROGATE: 1},
        {"a": SURROGATE},
        {"a": 1e-200},
        {"a": 1e300},
    ),
    *({"a": 10**60}, {"a": float("nan")}, {"a" * 300: 1}, {"pk": 1, "sk": 2}, {"a": "x" * 70_000}, {"a": None}),
    *([None], [[]], [{"a": {"b": -1e-200}}], [{"": 1}], [SURROGATE], ["a"] * 100, ["x" * 70_000], [True], [{}]),
)
ODD_VALUES = (None, True, False, [], {}, *ODD_NUMBERS, *ODD_TEXTS, *ODD_DATA)

VALID: dict[str, Any] = {
    "query": "tea",
    "fact": "Ana likes tea.",
    "key": "tone",
    "value": "brief",
    "id": "x",
    "session_id": "s",
    "role": "user",
    "content": "hi",
    "agent": "a",
    "chat_id": "c",
    "agent_version": "1",
    "name": "search",
    "duration_ms": 1,
}
READS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("load_context", {}),
    ("recall", {"query": "tea"}),
    ("load_session", {"session_id": "s", "view": "everything"}),
    ("load_session", {"session_id": "s", "turns": 5}),
    ("list_sessions", {}),
    ("active_chats", {}),
    ("past_chats", {"agent": "a"}),
    ("tool_log", {}),
)
REFUSED = "refused"


async def outcome(tool: MemoryTool, memory: Memory, scope: Scope, arguments: dict[str, Any]) -> str | None:
    """Return how a call ended: None for a reply, REFUSED, or what was wrong with it."""
    try:
        reply = await tool.call(memory, scope, arguments)
        json.dumps(reply, ensure_ascii=False).encode()
    except (UnavailableError, TableDamagedError) as error:
        return repr(error)
    except MemoryServerError as error:
        return REFUSED if len(str(error).encode()) < 500 else f"{type(error).__name__} of {len(str(error))} letters"
    except Exception as error:  # noqa: BLE001 - what the server answers with "internal error"
        return f"{type(error).__name__}: {error}"
    return "pending" if reply.get("pending") else None


@pytest.mark.parametrize("name", TOOLS)
async def test_an_odd_value_is_refused_or_stored_and_never_an_internal_error(memory: Memory, name: str) -> None:
    tool, users, wrong = TOOLS[name], count(), list[str]()
    required = {argument.name: VALID[argument.name] for argument in tool.arguments if argument.required}
    for argument in tool.arguments:
        for place, value in enumerate(ODD_VALUES):
            scope = Scope(f"user {next(users)}")
            found = [await outcome(tool, memory, scope, {**required, argument.name: value})]
            if found == [None] and not tool.read_only:
                found += [await outcome(TOOLS[read], memory, scope, arguments) for read, arguments in READS]
            wrong += [f"{argument.name} = odd value {place}: {one}" for one in found if one not in (None, REFUSED)]

    assert wrong == []
