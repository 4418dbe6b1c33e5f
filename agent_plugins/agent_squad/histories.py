"""Repair of stored histories, so that a model accepts them.

Models require that user and assistant alternate, that the user begins, and that each call of a tool is answered in the
next message. A stored history may violate that: writers were concurrent, an agent failed before it answered, or the
beginning was cut off between a call and its answer.
"""

from collections.abc import Iterable, Sequence

from agent_plugins.agent_squad.messages import ChatMessage, tool_call_id, tool_result_id

USER, ASSISTANT = "user", "assistant"


def well_formed(history: Sequence[ChatMessage], most: int | None = None) -> list[ChatMessage]:
    """Return the newest messages, at most ``most``, as a history that a model accepts.

    Adjacent messages of one role are merged. An answer at the beginning, an unanswered question at the end, and
    calls of tools without an answer (or answers without a call) are left out; nothing else is.
    """
    formed = list(history)
    # Repeated until nothing changes: a message that was left out may have contained the other half of a call.
    while (next_one := _trim_ends(_join_roles(_drop_unpaired_calls(_join_roles(formed))), most)) != formed:
        formed = next_one
    return formed


def text_only(history: Iterable[ChatMessage]) -> list[ChatMessage]:
    """Return the messages with their text only, without those that have none."""
    return [ChatMessage(said.role, ({"text": text},)) for said in history if (text := said.text())]


def _trim_ends(history: list[ChatMessage], most: int | None) -> list[ChatMessage]:
    newest = history if most is None else history[-most:] if most > 0 else []
    if newest and newest[0].role != USER:
        newest = newest[1:]
    return newest[:-1] if newest and newest[-1].role == USER else newest


def _join_roles(history: Iterable[ChatMessage]) -> list[ChatMessage]:
    joined: list[ChatMessage] = []
    for said in history:
        if not said.blocks:
            continue
        if joined and joined[-1].role == said.role:
            joined[-1] = ChatMessage(said.role, (*joined[-1].blocks, *said.blocks))
        else:
            joined.append(said)
    return joined


def _drop_unpaired_calls(history: Sequence[ChatMessage]) -> list[ChatMessage]:
    """Return the history without calls that the next message does not answer, and answers without a call."""
    whole: list[ChatMessage] = []
    for place, said in enumerate(history):
        before = history[place - 1].blocks if place else ()
        after = history[place + 1].blocks if place + 1 < len(history) else ()
        calls, answers = {tool_call_id(block) for block in before}, {tool_result_id(block) for block in after}
        kept = (
            block
            for block in said.blocks
            if (tool_call_id(block) is None or tool_call_id(block) in answers)
            and (tool_result_id(block) is None or tool_result_id(block) in calls)
        )
        # Models expect answers of tools first.
        whole.append(ChatMessage(said.role, tuple(sorted(kept, key=lambda block: tool_result_id(block) is None))))
    return whole
