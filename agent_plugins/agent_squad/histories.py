"""Histories that a model accepts, whatever was kept.

Models want user and assistant to take turns, the user to begin, and each call of a tool to be answered in the next
message. What was kept may be otherwise: several wrote at once, an agent failed after the user had spoken, or the
beginning was cut off in the middle of a call.
"""

from collections.abc import Iterable, Sequence

from agent_plugins.agent_squad.messages import Said, answered, called

USER, ASSISTANT = "user", "assistant"


def well_formed(history: Sequence[Said], most: int | None = None) -> list[Said]:
    """Return the history as a model accepts it: at most so many messages, the newest ones.

    Nothing that was said in between is left out: what one side said in a row becomes one message. Left out are an
    answer before the first question, a question at the end that nobody answered, and halves of calls of tools.
    """
    formed = list(history)
    # Again until nothing changes: what is left out may have held the other half of something.
    while (next_one := _ends_cut(_joined(_without_halves(_joined(formed))), most)) != formed:
        formed = next_one
    return formed


def in_words(history: Iterable[Said]) -> list[Said]:
    """Return only what was said in words, one text a message, for whoever reads nothing else."""
    return [Said(said.role, ({"text": text},)) for said in history if (text := said.text())]


def _ends_cut(history: list[Said], most: int | None) -> list[Said]:
    newest = history if most is None else history[-most:] if most > 0 else []
    if newest and newest[0].role != USER:
        newest = newest[1:]
    return newest[:-1] if newest and newest[-1].role == USER else newest


def _joined(history: Iterable[Said]) -> list[Said]:
    joined: list[Said] = []
    for said in history:
        if not said.blocks:
            continue
        if joined and joined[-1].role == said.role:
            joined[-1] = Said(said.role, (*joined[-1].blocks, *said.blocks))
        else:
            joined.append(said)
    return joined


def _without_halves(history: Sequence[Said]) -> list[Said]:
    """Return the history without calls that the next message does not answer, and answers that nobody called for."""
    whole: list[Said] = []
    for place, said in enumerate(history):
        before = history[place - 1].blocks if place else ()
        after = history[place + 1].blocks if place + 1 < len(history) else ()
        calls, answers = {called(block) for block in before}, {answered(block) for block in after}
        kept = (
            block
            for block in said.blocks
            if (called(block) is None or called(block) in answers)
            and (answered(block) is None or answered(block) in calls)
        )
        # Answers come first, where models expect them.
        whole.append(Said(said.role, tuple(sorted(kept, key=lambda block: answered(block) is None))))
    return whole
