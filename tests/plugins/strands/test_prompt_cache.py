"""What Bedrock is sent, by Strands' own class for it: what was cached for one call is the beginning of the next."""

import itertools
import json
from collections.abc import Mapping
from typing import Any

import boto3
import pytest
from strands import Agent
from strands.models.bedrock import BedrockModel
from strands.models.model import CacheConfig

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin
from mcp_memory_server import Scope, Statement
from tests.engines.converse import converse_service
from tests.plugins.strands.conftest import Ask

ANA = Scope("ana")
CONVERSATION = ("What shall I cook?", "And which wine?", "Remember that I like soup.", "What shall we do on Sunday?")
ANSWERS = ("Rice.", "A white one.", ("remember_fact", {"fact": "Ana likes soup."}), "Noted.", "A walk.")


def blocks(request: Mapping[str, Any]) -> list[str]:
    """Return all that was sent, in the order in which a provider caches it."""
    sent: list[Any] = [*request["toolConfig"]["tools"], *request.get("system", ())]
    for message in request["messages"]:
        sent += [[message["role"], block] for block in message["content"]]
    return [json.dumps(block) for block in sent]


def is_cache_point(block: str) -> bool:
    return '"cachePoint"' in block


def cached(request: Mapping[str, Any]) -> list[str]:
    """Return what is before the last cache point."""
    sent = blocks(request)
    last = max(place for place, block in enumerate(sent) if is_cache_point(block))
    return [block for block in sent[:last] if not is_cache_point(block)]


def requests_of(shared: SharedMemory, **options: Any) -> list[Mapping[str, Any]]:
    with converse_service(*ANSWERS) as service:
        model = BedrockModel(
            boto_session=boto3.Session("test", "test", region_name="eu-central-1"),
            endpoint_url=service.endpoint,
            model_id="anthropic.claude-sonnet-4-20250514-v1:0",
            cache_config=CacheConfig(strategy="anthropic"),
            streaming=False,
        )
        plugin = MemoryPlugin("ana", "s1", memory=shared, **options)
        agent = Agent(model=model, plugins=[plugin], system_prompt="You help.", callback_handler=None)
        for words in CONVERSATION:
            agent(words)
    return service.requests


@pytest.mark.parametrize("in_system_prompt", [False, True])
def test_what_is_cached_stays_the_same_from_call_to_call(
    shared: SharedMemory, ask: Ask[Any], *, in_system_prompt: bool
) -> None:
    ask(lambda memory: memory.preferences.set(ANA, "tone", "brief"))
    for fact in ("Ana cooks rice on Mondays.", "Ana drinks no red wine.", "Ana walks in the hills on Sundays."):
        ask(lambda memory, fact=fact: memory.facts.learn(ANA, Statement(fact)))

    requests = requests_of(shared, preferences_in_system_prompt=in_system_prompt)

    assert len(requests) == 5
    for earlier, later in itertools.pairwise(requests):
        prefix = cached(earlier)
        assert json.dumps(earlier["messages"][-1]["content"][0]) in prefix[-1]  # up to the words of the user
        assert [block for block in blocks(later) if not is_cache_point(block)][: len(prefix)] == prefix
    last_blocks = [request["messages"][-1]["content"][-1]["text"] for request in requests]
    assert "red wine" in last_blocks[1]
    assert "hills" in last_blocks[4]
    assert all("<memory" not in json.dumps(request["messages"][:-1]) for request in requests)
    assert all(("tone: brief" in block) is not in_system_prompt for block in last_blocks)
    assert all(("tone: brief" in json.dumps(request["system"])) is in_system_prompt for request in requests)
