"""What a client is told about the tools, and what that costs the model that reads it."""

import json
from typing import Any

import pytest
from mcp import Client

from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from tests.server.asking import FIVE_TOOLS

pytestmark = pytest.mark.anyio

MOST_TOKENS = 800
MOST_TOKENS_WITH_INSTRUCTIONS = 1050
NOT_FOR_THE_MODEL = {"outputSchema"}
"""What a client checks replies against, and no model reads."""
WORDS_OF_IDENTITY = ("user", "owner", "tenant", "account", "scope", "session", "subject")


async def tools_of(client: Client) -> dict[str, dict[str, Any]]:
    listed = (await client.list_tools()).model_dump(by_alias=True, exclude_none=True, mode="json")
    return {tool["name"]: tool for tool in listed["tools"]}


async def test_there_are_exactly_five_tools_in_a_fixed_order(client: Client) -> None:
    assert list(await tools_of(client)) == FIVE_TOOLS


async def test_annotations_tell_which_tools_only_read_and_which_one_destroys(client: Client) -> None:
    annotations = {name: tool["annotations"] for name, tool in (await tools_of(client)).items()}

    closed = {"openWorldHint": False}
    assert annotations == {
        "recall": {"readOnlyHint": True, **closed},
        "remember_fact": {"destructiveHint": False, **closed},
        "set_preference": {"destructiveHint": False, "idempotentHint": True, **closed},
        "load_context": {"readOnlyHint": True, **closed},
        "forget": {"destructiveHint": True, "idempotentHint": True, **closed},
    }


async def test_every_tool_has_a_title_for_people(client: Client) -> None:
    titles = [tool["title"] for tool in (await tools_of(client)).values()]

    assert titles == ["Recall", "Remember", "Set preference", "Load context", "Forget"]


async def test_what_the_instructions_say_to_call_at_once_is_always_loaded(client: Client) -> None:
    meta = {name: tool["_meta"] for name, tool in (await tools_of(client)).items() if "_meta" in tool}

    assert meta == {name: {"anthropic/alwaysLoad": True} for name in ("recall", "remember_fact", "load_context")}
    assert client.instructions is not None
    assert all(name in client.instructions for name in meta)


async def test_the_words_promise_only_what_every_memory_holds(client: Client) -> None:
    descriptions = [tool["description"] for tool in (await tools_of(client)).values()]

    assert [text for text in descriptions if "discussed" in text] == []


async def test_no_argument_can_say_whose_memory_it_is(client: Client) -> None:
    schemas = [tool["inputSchema"] for tool in (await tools_of(client)).values()]

    names = {name for schema in schemas for name in schema["properties"]}

    assert [name for name in names if any(word in name.lower() for word in WORDS_OF_IDENTITY)] == []
    assert all(schema["additionalProperties"] is False for schema in schemas)


async def test_the_schema_of_every_answer_tells_what_a_status_can_be(client: Client) -> None:
    schemas = [tool["outputSchema"] for tool in (await tools_of(client)).values()]

    assert [schema["properties"]["status"]["enum"] for schema in schemas] == [
        ["complete", "partial", "unavailable"]
    ] * 5


async def test_every_tool_is_described_in_one_paragraph(client: Client) -> None:
    descriptions = [tool["description"] for tool in (await tools_of(client)).values()]

    assert all(20 < len(text) < 250 and "\n" not in text for text in descriptions)


async def test_the_list_costs_a_model_less_than_800_tokens_and_1050_with_the_instructions(client: Client) -> None:
    read = [
        {key: value for key, value in tool.items() if key not in NOT_FOR_THE_MODEL}
        for tool in (await tools_of(client)).values()
    ]
    tools = json.dumps(read, ensure_ascii=False, separators=(",", ":"))

    assert client.instructions is not None
    assert count_tokens(tools) < MOST_TOKENS
    assert count_tokens(tools + client.instructions) < MOST_TOKENS_WITH_INSTRUCTIONS


async def test_the_list_is_the_same_every_time(client: Client) -> None:
    first = await client.list_tools(cache_mode="bypass")
    second = await client.list_tools(cache_mode="bypass")

    assert first.tools == second.tools
