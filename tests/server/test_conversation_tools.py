"""The second tool set: off unless asked for, and then an orchestrator can keep its conversations here."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from mcp_memory_server import Scope, Settings, open_memory
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always

pytestmark = pytest.mark.anyio

TURN_TOOLS = ["list_sessions", "append_turn", "load_session", "end_session"]
LOG_TOOLS = ["log_tool_call", "tool_log"]
CHAT_TOOLS = [
    "create_chat",
    "active_chat",
    "renew_chat",
    "delete_chat",
    "set_chat_version",
    "active_chats",
    "past_chats",
]


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[Client]:
    async with (
        open_memory(Settings(table=f"sqlite://{tmp_path}/memory.db")) as memory,
        Client(build_server(memory, always(Scope("anna")), with_conversations=True)) as client,
    ):
        yield client


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    answer = await client.call_tool(tool, arguments)
    assert answer.structured_content is not None
    return {**answer.structured_content, "failed": bool(answer.is_error)}


async def test_the_tools_are_offered_only_when_asked_for(tmp_path: Path) -> None:
    async with open_memory(Settings(table=f"sqlite://{tmp_path}/memory.db")) as memory:
        async with Client(build_server(memory, always(Scope("anna")))) as client:
            usual = [tool.name for tool in (await client.list_tools()).tools]
        async with Client(build_server(memory, always(Scope("anna")), with_conversations=True)) as client:
            more = (await client.list_tools()).tools

    assert len(usual) == 5
    assert [tool.name for tool in more][5:] == TURN_TOOLS + CHAT_TOOLS + LOG_TOOLS
    assert not any("user" in str(tool.input_schema.get("properties", {}).keys()) for tool in more)


async def test_a_conversation_is_kept_and_loaded_with_everything_in_it(client: Client) -> None:
    await call(client, "append_turn", session_id="s 1", role="user", content="I prefer trains.", intent="travel")
    await call(client, "append_turn", session_id="s 1", role="tool", content="[]", tool_calls=[{"name": "find"}])
    context = await call(client, "load_session", session_id="s 1")
    everything = await call(client, "load_session", session_id="s 1", view="everything", turns=1)
    older = await call(client, "load_session", session_id="s 1", before=everything["cursor"])
    strange = await call(client, "load_session", session_id="s 2")

    assert [turn["content"] for turn in context["turns"]] == ["I prefer trains.", "[]"]
    assert (context["status"], context["turn_count"]) == ("complete", 2)
    assert everything["turns"][0]["tool_calls"] == [{"name": "find"}]
    assert [turn["content"] for turn in older["turns"]] == ["I prefer trains."]
    assert strange["turns"] == []


async def test_a_repeated_call_with_its_operation_id_keeps_one_turn(client: Client) -> None:
    said = {"session_id": "s", "role": "user", "content": "Book it", "operation_id": "m-1"}
    first = await call(client, "append_turn", **said)
    again = await call(client, "append_turn", **said)
    loaded = await call(client, "load_session", session_id="s")

    assert first["id"] == again["id"]
    assert len(loaded["turns"]) == 1


async def test_a_session_that_was_ended_goes_on_with_its_next_turn(client: Client) -> None:
    await call(client, "append_turn", session_id="s", role="user", content="That is all, thanks.")
    ended = await call(client, "end_session", session_id="s")
    over = [await call(client, "load_session", session_id="s") for _ in range(2)][-1]
    await asyncio.sleep(0.002)  # a turn's time has milliseconds
    await call(client, "append_turn", session_id="s", role="user", content="One more thing.")
    going_on = await call(client, "load_session", session_id="s")

    assert (ended["status"], ended["turn_count"]) == ("complete", 1)
    assert over["ended_at"] == ended["ended_at"]
    assert "ended_at" not in going_on
    assert [turn["content"] for turn in going_on["turns"]] == ["That is all, thanks.", "One more thing."]


async def test_the_context_holds_the_running_conversation_within_its_budget(client: Client) -> None:
    await call(client, "set_preference", key="tone", value="brief")
    for number in range(30):
        await call(client, "append_turn", session_id="s", role="user", content=f"# Turn {number}\nabout trains")

    page = await call(client, "load_context", session_id="s", max_tokens=200)
    without = await call(client, "load_context", max_tokens=200)

    assert "- tone: brief" in page["context"]
    assert "## This conversation (30 turns so far)" in page["context"]
    assert page["context"].endswith("- user: # Turn 29 about trains")
    assert "This conversation" not in without["context"]


async def test_another_user_does_not_see_the_session(tmp_path: Path) -> None:
    async with open_memory(Settings(table=f"sqlite://{tmp_path}/memory.db")) as memory:
        anna = build_server(memory, always(Scope("anna")), with_conversations=True)
        bo = build_server(memory, always(Scope("bo")), with_conversations=True)
        async with Client(anna) as client, Client(bo) as stranger:
            await call(client, "append_turn", session_id="s", role="user", content="A secret")
            seen = await call(stranger, "load_session", session_id="s")

    assert seen["turns"] == []


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"session_id": "s", "role": "boss", "content": "x"}, "role"),
        ({"session_id": "", "role": "user", "content": "x"}, "session_id"),
        ({"session_id": "s", "role": "user", "content": ""}, "content"),
        ({"session_id": "s", "role": "user", "content": "x", "said_at": "soon"}, "2026-03-02"),
        ({"role": "user", "content": "x"}, "session_id is missing"),
    ],
)
async def test_a_turn_that_cannot_be_kept_is_refused_clearly(
    client: Client, arguments: dict[str, Any], told: str
) -> None:
    answer = await call(client, "append_turn", **arguments)

    assert answer["failed"]
    assert told in answer["message"]


async def test_an_agent_has_one_active_chat_and_a_history(client: Client) -> None:
    created = await call(client, "create_chat", agent="shop", title="Shoes")
    twice = await asyncio.gather(*(call(client, "create_chat", agent="shop") for _ in range(3)))
    renewed = await call(client, "renew_chat", agent="shop")
    await call(client, "set_chat_version", chat_id=renewed["chat"]["id"], agent_version="v2")
    active = await call(client, "active_chat", agent="shop")
    await call(client, "delete_chat", agent="shop")
    past = await call(client, "past_chats", agent="shop")
    none = await call(client, "active_chat", agent="shop")

    assert all(answer["failed"] and answer["error"] == "conflict" for answer in twice)
    assert active["chat"]["agent_version"] == "v2"
    assert [chat["id"] for chat in past["chats"]] == [renewed["chat"]["id"], created["chat"]["id"]]
    assert none["chat"] is None


async def test_a_logged_tool_call_is_listed_without_its_secrets(tmp_path: Path) -> None:
    async with (
        open_memory(Settings(table=f"sqlite://{tmp_path}/memory.db")) as memory,
        Client(build_server(memory, always(Scope("anna")), with_conversations=True)) as client,
    ):
        given = {"city": "Rome", "api_key": "hunter2"}
        for session in ("s 1", "s 2"):
            await call(client, "log_tool_call", name="search", duration_ms=12.5, inputs=given, session_id=session)
        one = await call(client, "tool_log", session_id="s 1")
        both = await call(client, "tool_log")

    (logged,) = one["calls"]
    assert (logged["name"], logged["duration_ms"], logged["status"]) == ("search", 12.5, "ok")
    assert logged["inputs"] == {"city": "Rome", "api_key": "[redacted]"}
    assert [entry["session_id"] for entry in both["calls"]] == ["s 2", "s 1"]


async def test_a_turn_with_a_credential_says_that_it_was_redacted(client: Client) -> None:
    token = "ghp_" + "aB3x" * 9

    kept = await call(client, "append_turn", session_id="chat", role="user", content=f"Use {token} please.")
    plain = await call(client, "append_turn", session_id="chat", role="user", content="I forgot my password.")

    assert kept["redacted"] == 1
    assert "redacted" not in plain
    turns = (await call(client, "load_session", session_id="chat"))["turns"]
    assert [turn["content"] for turn in turns] == ["Use [redacted] please.", "I forgot my password."]


async def test_the_conversations_of_the_user_are_listed_page_by_page(client: Client) -> None:
    for session in ("one", "two", "three"):
        for text in ("Hello!", "And on."):
            await call(client, "append_turn", session_id=session, role="user", content=text, token_count=3)
    await call(client, "end_session", session_id="two")

    first = await call(client, "list_sessions", limit=2)
    rest = await call(client, "list_sessions", limit=2, cursor=first["cursor"])

    listed = {one["session_id"]: one for one in [*first["sessions"], *rest["sessions"]]}
    assert set(listed) == {"one", "two", "three"}
    assert {(one["turn_count"], one["token_count"]) for one in listed.values()} == {(2, 6)}
    assert [name for name, one in listed.items() if "ended_at" in one] == ["two"]
    assert all(one["created_at"] <= one["last_activity"] for one in listed.values())
    assert "cursor" not in rest


async def test_a_repeated_operation_renews_a_chat_once_and_names_the_version(client: Client) -> None:
    await call(client, "create_chat", agent="shop", operation_id="first")

    renewed = [
        await call(client, "renew_chat", agent="shop", agent_version="7", title="New", operation_id="again")
        for _ in range(2)
    ]

    assert renewed[0]["chat"] == renewed[1]["chat"]
    assert renewed[0]["chat"]["agent_version"] == "7"
    assert (await call(client, "active_chats"))["chats"] == [renewed[0]["chat"]]
    assert len((await call(client, "past_chats", agent="shop"))["chats"]) == 1
