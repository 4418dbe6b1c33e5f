"""Whatever a model sends, it is told what is wrong and what would be right, and nothing that was stored is touched."""

from typing import Any

import jsonschema
import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from mcp_memory_server import Memory, Statement
from tests.server.asking import ANA, FIVE_TOOLS, be_refused, stored

pytestmark = pytest.mark.anyio

LONGEST_MESSAGE = 400
NOISE = ("Traceback", "pydantic", "validation error", "input_value", "Error(", "<class", " object at 0x", "\\x", "{'")

LONE_SURROGATE = "half a pair: \ud83d"
TEN_MEGABYTES = "x" * 10_000_000

# What is sent, and words that the refusal must have: the field, and what would be right.
WRONG: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "a number for text": ("recall", {"query": 7}, ("query must be text, got 7",)),
    "a list for text": ("remember_fact", {"fact": ["Ana", "Lisbon"]}, ("fact must be text, got a list",)),
    "null for text": ("remember_fact", {"fact": None}, ("fact is missing",)),
    "text for a number": ("recall", {"query": "a", "max_tokens": "many"}, ("max_tokens", "whole number", "'many'")),
    "a fraction for a whole number": ("load_context", {"max_tokens": 99.5}, ("max_tokens", "whole number", "99.5")),
    "an unknown source": ("remember_fact", {"fact": "a", "source": "god"}, ("source", "'confirmed'")),
    "an unknown permanence": ("remember_fact", {"fact": "a", "permanence": "ever"}, ("permanence", "'durable'")),
    "no query": ("recall", {}, ("query is missing", "query, max_tokens, topic, as_of")),
    "no value": ("set_preference", {"key": "tone"}, ("value is missing", "key, value")),
    "no id": ("forget", {}, ("id is missing",)),
    "a user id": ("recall", {"query": "a", "user_id": "bo"}, ("no argument 'user_id'", "query, max_tokens")),
    "a user id for a tool without needs": ("load_context", {"user_id": "bo"}, ("no argument 'user_id'", "max_tokens")),
    "ten megabytes of fact": ("remember_fact", {"fact": TEN_MEGABYTES}, ("fact", "at most 8,192 bytes")),
    "ten megabytes of query": ("recall", {"query": TEN_MEGABYTES}, ("query", "at most 8,192 bytes")),
    "ten megabytes of value": ("set_preference", {"key": "a", "value": TEN_MEGABYTES}, ("value", "at most 2,048")),
    "ten megabytes of key": ("set_preference", {"key": TEN_MEGABYTES, "value": "a"}, ("key", "1 to 128 bytes")),
    "ten megabytes of topic": ("remember_fact", {"fact": "a", "topic": TEN_MEGABYTES}, ("topic", "at most 256")),
    "ten megabytes of id": ("forget", {"id": TEN_MEGABYTES}, ("id", "recall")),
    "ten megabytes of date": ("recall", {"query": "a", "as_of": TEN_MEGABYTES}, ("as_of", "2026-03-02")),
    "ten megabytes of an argument's name": ("recall", {"query": "a", TEN_MEGABYTES: 1}, ("no argument 'xxx",)),
    "half a surrogate pair": ("remember_fact", {"fact": LONE_SURROGATE}, ("fact", "valid Unicode")),
    "half a surrogate pair in a key": ("set_preference", {"key": LONE_SURROGATE, "value": "a"}, ("key", "Unicode")),
    "half a surrogate pair in a topic": ("recall", {"query": "a", "topic": LONE_SURROGATE}, ("topic", "Unicode")),
    "a NUL": ("remember_fact", {"fact": "a\0b"}, ("fact", "U+0000", "remove it")),
    "an escape sequence": ("set_preference", {"key": "a", "value": "\x1b[2J"}, ("value", "U+001B")),
    "a blank fact": ("remember_fact", {"fact": " \n\t "}, ("fact", "not be blank")),
    "a blank key": ("set_preference", {"key": " ", "value": "a"}, ("key", "not blank")),
    "an empty query": ("recall", {"query": ""}, ("query", "not be blank")),
    "no room at all": ("recall", {"query": "a", "max_tokens": 0}, ("max_tokens", "50 to 20,000", "got 0")),
    "less than no room": ("load_context", {"max_tokens": -1}, ("max_tokens", "50 to 20,000", "got -1")),
    "more room than there is": ("recall", {"query": "a", "max_tokens": 10**9}, ("max_tokens", "50 to 20,000")),
    "no date": ("recall", {"query": "a", "as_of": "last spring"}, ("as_of", "2026-03-02", "'last spring'")),
    "an impossible date": ("recall", {"query": "a", "as_of": "2026-02-30"}, ("as_of", "'2026-02-30'")),
    "more than certain": ("remember_fact", {"fact": "a", "confidence": 1.01}, ("confidence", "at most 1", "1.01")),
    "no confidence": ("remember_fact", {"fact": "a", "confidence": 0}, ("confidence", "over 0")),
    "an unknown topic": ("recall", {"query": "a", "topic": "wrk"}, ("topic 'wrk'", "personal/", "Leave topic out")),
    "a topic with a hole": ("recall", {"query": "a", "topic": "a//b"}, ("topic", "single slashes", "'a//b'")),
    "a new topic with a hole": ("remember_fact", {"fact": "a", "topic": "a//b"}, ("topic", "single slashes")),
    "an unknown id": ("forget", {"id": "nobody"}, ("'nobody'", "recall")),
    "an unknown id to replace": ("remember_fact", {"fact": "a", "replaces": "nobody"}, ("'nobody'", "recall")),
}


@pytest.fixture
async def before(memory: Memory) -> list[str]:
    await memory.facts.learn(ANA, Statement("Ana lives in Lisbon.", topic="personal/location/city"))
    await memory.preferences.set(ANA, "tone", "brief")
    return await stored(memory)


@pytest.mark.parametrize(("tool", "arguments", "words"), WRONG.values(), ids=WRONG)
async def test_bad_arguments_are_refused_with_words_that_help(
    client: Client, memory: Memory, before: list[str], tool: str, arguments: dict[str, Any], words: tuple[str, ...]
) -> None:
    refused = await be_refused(client, tool, arguments)

    assert refused.keys() == {"error", "message"}
    assert refused["error"] in {"invalid_request", "not_found"}
    assert [word for word in words if word not in refused["message"]] == []
    assert [noise for noise in NOISE if noise in refused["message"]] == []
    assert len(refused["message"]) < LONGEST_MESSAGE
    assert await stored(memory) == before


async def test_a_refusal_keeps_to_the_schema_of_answers_so_that_strict_clients_show_it(client: Client) -> None:
    schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}

    for tool, schema in schemas.items():
        jsonschema.validate(await be_refused(client, tool, {"user_id": "bo"}), schema or {})


async def test_several_mistakes_are_told_at_once(client: Client) -> None:
    refused = await be_refused(client, "set_preference", {"value": 1, "user": "bo"})

    assert "key is missing" in refused["message"]
    assert "value" in refused["message"]
    assert "no argument 'user'" in refused["message"]


async def test_an_unknown_tool_is_an_error_of_the_protocol_that_names_the_tools(client: Client) -> None:
    with pytest.raises(MCPError) as refused:
        await client.call_tool("remember", {"fact": "Ana lives in Lisbon."})

    assert refused.value.code == INVALID_PARAMS
    assert "'remember'" in refused.value.message
    assert all(name in refused.value.message for name in FIVE_TOOLS)


async def test_an_unknown_prompt_is_an_error_that_names_the_prompt_there_is(client: Client) -> None:
    with pytest.raises(MCPError, match="no prompt 'summary'; there is 'review_memory'") as refused:
        await client.get_prompt("summary")

    assert refused.value.code == INVALID_PARAMS


@pytest.mark.parametrize(
    ("uri", "words"),
    [
        ("memory://users", ("'memory://users'", "memory://context", "memory://facts/<topic>")),
        ("file:///etc/passwd", ("no resource", "memory://context")),
        ("memory://facts/unheard-of", ("nothing is known", "'unheard-of'")),
        ("memory://facts/a%2F%2Fb", ("single slashes", "'a//b'")),
        ("memory://facts/", ("single slashes",)),
    ],
)
async def test_an_unknown_resource_is_an_error_that_helps(client: Client, uri: str, words: tuple[str, ...]) -> None:
    with pytest.raises(MCPError) as refused:
        await client.read_resource(uri)

    assert refused.value.code == INVALID_PARAMS
    assert [word for word in words if word not in refused.value.message] == []
