"""What a summarizer is given: the turns of a conversation, made safe to read."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcp_memory_server.domain.kernel.redaction import redacted_text
from mcp_memory_server.domain.kernel.text import shortened
from mcp_memory_server.domain.language.own_statements import own_statements
from mcp_memory_server.domain.sessions.turns import Role, Turn

MOST_TOKENS = 12_000
"""Of what is said. Of a longer conversation the newest turns are read, and what was summed up of it while it ran."""
LONGEST_TURN = 4_000
MOST_OPEN_QUESTIONS = 10

# Addressed to whoever sums up, not to the partner in the conversation.
_INSTRUCTS = re.compile(
    r"(?:ignore|disregard|forget|override)\b.{0,30}\b(?:above|previous|prior|earlier|instruction|rule|everything)"
    r"|system prompt|you are now\b|(?:write|note|record|say|remember|report|summari[sz]e) that (?:the |this )?user"
    r"|(?:in|to) (?:the|your|this) summary|new instructions?:"
    r"|(?:ignorier|vergiss|missacht)\w*.{0,30}(?:oben|vorherig|bisherig|anweisung|alles)"
    r"|schreibe?,? dass der (?:be)?nutzer"
    r"|(?:ignora|olvida|descarta)\b.{0,30}(?:anterior|instruccion|arriba|todo)|escribe que el usuario"
    r"|(?:上記|以前|これまで|指示).{0,12}無視|ユーザーは.{1,20}と(?:書|記録)"
    r"|(?:忽略|无视|無視|忘记|忘記).{0,12}(?:以上|上面|之前|前面|指令|指示)|(?:写|寫|记录|記錄)(?:下)?.{0,6}用户是",
    re.IGNORECASE,
)
LEFT_OUT = "[left out: it addresses the summarizer]"


@dataclass(frozen=True)
class Material:
    """A conversation to be summed up: its turns, oldest first, and what is known of it besides.

    ``earlier`` sums up what came before these turns; ``questions`` are open ones of earlier conversations.
    """

    turns: tuple[Turn, ...]
    earlier: str | None = None
    questions: tuple[str, ...] = ()

    @property
    def spoken(self) -> tuple[Turn, ...]:
        """What the user and the assistant said themselves: nothing that came from a tool, a page or a system."""
        return tuple(turn for turn in self.turns if turn.role in (Role.USER, Role.ASSISTANT))


def material_from(turns: Sequence[Turn], earlier: str | None, questions: Sequence[str]) -> Material:
    """Return what is summed up of a conversation: its newest turns, without secrets and without orders to us."""
    kept: list[Turn] = []
    room = MOST_TOKENS
    for turn in reversed(turns):
        safe = replace(turn, content=_safe(turn), tool_calls=())
        room -= len(safe.content) // 3 + 8
        if room < 0 and kept:
            break
        kept.append(safe)
    return Material(tuple(reversed(kept)), earlier, tuple(questions[:MOST_OPEN_QUESTIONS]))


def own_statements_of(turn: Turn) -> list[str]:
    """Return what the authenticated user states directly in this turn; nothing of other people or agents."""
    if turn.role is not Role.USER or turn.content == LEFT_OUT or turn.speaker not in (None, Role.USER.value):
        return []
    return own_statements(turn.content)


def instructs(text: str) -> bool:
    """Return whether a text gives orders to whoever sums it up. Such a turn changes nothing but itself."""
    return _INSTRUCTS.search(text) is not None


def _safe(turn: Turn) -> str:
    if instructs(turn.content):
        return LEFT_OUT
    cut = len(turn.content) > LONGEST_TURN
    return shortened(redacted_text(turn.content, LONGEST_TURN) + (" …" if cut else ""), LONGEST_TURN + 2)
