"""Any stored history becomes one that a model accepts, and no message in between is lost."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_plugins.agent_squad.histories import well_formed
from agent_plugins.agent_squad.messages import (
    ChatMessage,
    from_squad_message,
    from_turn,
    to_turn,
    tool_call_id,
    tool_result_id,
)
from mcp_memory_server import Turn
from tests.plugins.agent_squad.conftest import said


def text(words: str) -> Any:
    return {"text": words}


def calls(number: int) -> Any:
    return {"toolUse": {"toolUseId": f"call-{number}", "name": "search", "input": {}}}


def answers(number: int) -> Any:
    return {"toolResult": {"toolUseId": f"call-{number}", "content": [{"text": f"found {number}"}]}}


def messages(role: str, number: int) -> st.SearchStrategy[ChatMessage]:
    tool = calls if role == "assistant" else answers
    block = st.one_of(st.just(text(f"{role} says {number}")), st.integers(0, 3).map(tool))
    return st.lists(block, min_size=0, max_size=3).map(lambda blocks: ChatMessage(role, tuple(blocks)))


histories = st.lists(st.sampled_from(["user", "assistant"]), max_size=12).flatmap(
    lambda roles: st.tuples(*(messages(role, number) for number, role in enumerate(roles)))
)


@given(histories, st.one_of(st.none(), st.integers(0, 8)))
def test_every_history_becomes_one_that_a_model_accepts(history: tuple[ChatMessage, ...], most: int | None) -> None:
    formed = well_formed(history, most)

    assert [one.role for one in formed] == ["user", "assistant"] * (len(formed) // 2)
    assert most is None or len(formed) <= most
    for before, after in zip([ChatMessage("", ()), *formed], [*formed, ChatMessage("", ())], strict=True):
        wanted = {tool_call_id(block) for block in before.blocks} - {None}
        given = {tool_result_id(block) for block in after.blocks} - {None}
        assert wanted == given
        assert all(
            tool_result_id(block) is None
            for block in after.blocks[len([b for b in after.blocks if tool_result_id(b)]) :]
        )


@given(histories)
def test_no_words_between_the_first_question_and_the_last_answer_are_lost(history: tuple[ChatMessage, ...]) -> None:
    words = [(one.role, block["text"]) for one in history for block in one.blocks if "text" in block]
    kept = [(one.role, block["text"]) for one in well_formed(history) for block in one.blocks if "text" in block]

    start = words.index(kept[0]) if kept else 0
    assert sorted(kept) == sorted(words[start : start + len(kept)])
    assert all(role == "assistant" for role, _ in words[:start])
    assert all(role == "user" for role, _ in words[start + len(kept) :]) or not kept


@given(
    st.lists(
        st.one_of(
            st.text(min_size=1).map(text),
            st.integers(0, 3).map(calls),
            st.binary(max_size=9).map(lambda data: {"image": {"format": "png", "source": {"bytes": data}}}),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_message_comes_back_as_it_was_said(blocks: list[Any]) -> None:
    message = said("assistant")
    message.content = blocks
    new = to_turn(from_squad_message(message), "clerk")
    assert new is not None

    back = from_turn(Turn("1", new.role, new.content, agent=new.agent, page_context=new.page_context))

    assert (back.role, list(back.blocks)) == ("assistant", blocks)


def test_a_message_larger_than_a_detail_may_be_comes_back_too() -> None:
    message = said("user", "a" * 100_000, "b" * 100_000)
    new = to_turn(from_squad_message(message), "clerk")
    assert new is not None

    back = from_turn(Turn("1", new.role, new.content, page_context=new.page_context))

    assert list(back.blocks) == message.content
