"""The prompt block: what is known about the user, earlier turns, and the shared state.

It is appended to the last message for one call of the model and never becomes part of the history: the prompt cache
stays valid up to there, and nothing accumulates.
"""

from collections.abc import Sequence

from agent_plugins.memory.agent_memory import PromptSection
from mcp_memory_server import Status

_NOTHING_LOADED = "Nothing could be looked up. That is not the same as nothing being known: say so where it matters."
_MARKUP = {ord("<"): "&lt;", ord(">"): "&gt;"}
TOKENS_OF_AN_ESCAPE = 3


def render_prompt_block(
    known: PromptSection,
    earlier: PromptSection | None,
    state: PromptSection | None,
    findings: Sequence[str] = (),
    unsaved: int = 0,
) -> str:
    """Return the block. Stored text is fenced and escaped: it can neither end the fence nor act as an instruction."""
    parts = [known, *(part for part in (earlier, state) if part is not None)]
    missing = [f"- {line}" for part in parts for line in part.missing]
    if unsaved:
        missing.append(f"- {unsaved} messages of this conversation could not be saved yet")
    sections = [known.text or (_NOTHING_LOADED if known.status is Status.UNAVAILABLE else "")]
    if earlier is not None and earlier.text:
        sections.append(f"## Earlier in this conversation\n{earlier.text}")
    if missing:
        sections.append("\n".join(["## Missing", *missing]))
    rendered = _fence("memory", "\n\n".join(filter(None, sections)), _status(known, parts, unsaved))
    if state is not None and state.text:
        rendered += "\n" + _fence("state", state.text)
    return rendered + "".join(f"\nNote: {finding}" for finding in findings)


def count_escape_tokens(text: str) -> int:
    """Return the most tokens that escaping can add to a text."""
    return TOKENS_OF_AN_ESCAPE * sum(text.count(chr(sign)) for sign in _MARKUP)


def _status(known: PromptSection, parts: Sequence[PromptSection], unsaved: int) -> Status:
    if known.status is Status.UNAVAILABLE:
        return Status.UNAVAILABLE
    whole = not unsaved and all(part.status is Status.COMPLETE for part in parts)
    return Status.COMPLETE if whole else Status.PARTIAL


def _fence(name: str, text: str, status: Status | None = None) -> str:
    attribute = "" if status is None else f' status="{status.value}"'
    return f"<{name}{attribute}>\n{text.translate(_MARKUP)}\n</{name}>"
