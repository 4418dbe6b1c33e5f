"""Any message becomes a turn that can be stored: a hook that raises would end the agent."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_plugins.memory.shared_memory import SharedMemory
from agent_plugins.strands import MemoryPlugin, for_user
from agent_plugins.strands.messages import turn_from
from examples.scripted_model import call
from mcp_memory_server import Role, Scope
from tests.plugins.strands.conftest import Ask, agent_with

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=30)
PLAIN = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), ANY_TEXT, st.binary(max_size=9)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(ANY_TEXT, inner, max_size=3)),
    max_leaves=8,
)
BLOCKS = st.one_of(
    st.fixed_dictionaries({"text": ANY_TEXT}),
    st.builds(lambda name, value: {"toolUse": {"name": name, "toolUseId": name, "input": value}}, ANY_TEXT, PLAIN),
    st.builds(lambda value: {"toolResult": {"toolUseId": "1", "content": [{"json": value}]}}, PLAIN),
    st.builds(lambda data: {"image": {"format": "png", "source": {"bytes": data}}}, st.binary(max_size=9)),
    st.just({"reasoningContent": {"reasoningText": {"text": "hm"}}}),
)


@given(st.sampled_from(["user", "assistant"]), st.lists(BLOCKS, max_size=6), ANY_TEXT)
def test_no_message_is_refused_and_what_is_kept_can_be_stored(role: Any, blocks: list[Any], agent: str) -> None:
    turn = turn_from({"role": role, "content": blocks}, agent, speaks_as=agent)

    if turn is None:
        assert not any(block.get("text") or "toolUse" in block for block in blocks)
        return
    assert turn.content.encode() is not None
    assert str(list(turn.tool_calls)).encode() is not None
    assert (turn.role is Role.ASSISTANT) == (role == "assistant")


def test_many_calls_with_large_inputs_are_kept_cut(shared: SharedMemory, ask: Ask[Any]) -> None:
    plugin = MemoryPlugin("ana", "s1", memory=shared)
    many = [call("recall", query=f"{number} " + "\udc80 long question " * 500) for number in range(40)]

    agent_with(plugin, many, "Done.")("Look it all up.")

    session = ask(lambda memory: memory.conversations.load(Scope("ana", "s1"), turns=10))
    assert session.turn_count == 3


def test_a_user_that_cannot_be_one_does_not_end_the_agent(shared: SharedMemory) -> None:
    agent = agent_with(MemoryPlugin(memory=shared), "Hello.")

    for state in ({"mcp_memory": "ana"}, {"mcp_memory": {"user": 7}}, {"mcp_memory": {"user": "ana", "session": 7}}):
        assert str(agent("Hi", invocation_state=state)).strip() == "Hello."
    assert str(agent("Hi", invocation_state=for_user("ana", "s1"))).strip() == "Hello."
