"""What was said earlier in a conversation, as text: for agents whose own messages do not contain it."""

from collections.abc import Iterator, Sequence

from agent_plugins.memory.prompt_block import PromptSection, count_escape_tokens
from mcp_memory_server import Role, Status, Turn, count_tokens, one_line

LONGEST_SPEAKER = 60
LONGEST_TURN = 600
"""In characters of an earlier turn."""
IN_SHORT = "- in short: "
BETWEEN_SENTENCES = " · "
"""Between the sentences of a stored summary."""
CUT_BY = 0.8
LEAST_CHARACTERS = 20


def earlier_section(summary: str | None, turns: Sequence[Turn], missing: Sequence[str], room: int) -> PromptSection:
    """Return a summary of the beginning, and the newest turns that fit, one line for each."""
    status = Status.PARTIAL if missing else Status.COMPLETE
    short = _shortened(summary or "", room - _cost(IN_SHORT))
    begun = [IN_SHORT + short] if short else []
    lines = list(_newest_lines(turns, room - sum(map(_cost, begun))))
    return PromptSection(status, "\n".join([*begun, *reversed(lines)]), tuple(missing))


def line_of(turn: Turn) -> str:
    """Return what was said, after who said it."""
    said = one_line(" ".join(turn.content.split()))
    cut = said if len(said) <= LONGEST_TURN else said[:LONGEST_TURN] + "…"
    # A name is data too: it ends neither its line nor itself.
    speaker = one_line(turn.speaker or turn.role.value).replace(":", " ")[:LONGEST_SPEAKER]
    return f"- {speaker}: {cut}"


def not_in(turns: Sequence[Turn], said: str) -> list[Turn]:
    """Return the turns whose text is not part of what was ``said``."""
    plain = " ".join(said.split())
    return [turn for turn in turns if " ".join(turn.content.split()) not in plain]


def _newest_lines(turns: Sequence[Turn], room: int) -> Iterator[str]:
    for turn in reversed(turns):
        if turn.role is Role.TOOL or not turn.content.strip():
            continue
        line = line_of(turn)
        if (room := room - _cost(line)) < 0:
            return
        yield line


def _shortened(summary: str, room: int) -> str:
    """Return a summary that fits. The first sentence says what the conversation is about, and stays longest."""
    sentences = summary.split(BETWEEN_SENTENCES)
    while len(sentences) > 1 and _cost(BETWEEN_SENTENCES.join(sentences)) > room:
        del sentences[1]
    text = BETWEEN_SENTENCES.join(sentences)
    while text and _cost(text) > room:
        text = "" if len(text) < LEAST_CHARACTERS else text[: int(len(text) * CUT_BY)] + "…"
    return text


def _cost(text: str) -> int:
    return count_tokens(text) + count_escape_tokens(text) + 1
