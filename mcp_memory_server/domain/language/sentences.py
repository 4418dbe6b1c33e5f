"""Split text into sentences, with or without spaces between words."""

import re

from mcp_memory_server.domain.kernel.text import one_line, shortened

LONGEST_SENTENCE = 240
SHORTEST_SENTENCE = 3

# Quoted or pasted text was not written by the sender.
_PASTED = re.compile(r"```.*?(?:```|\Z)|^[ \t]*>[^\n]*$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"https?://\S+")
_END = re.compile(r"(?<=[。！？])|(?<=[.!?…])[\"'”»)]*\s+|\n+")  # noqa: RUF001 - also the full stops of other scripts
_ABBREVIATED = re.compile(r"(?:\b(?:mr|mrs|ms|dr|st|e\.g|i\.e|z\.b|bzw|sr|sra|no|vs)|\b\w)\.$", re.IGNORECASE)
_ASKS = re.compile(r"[?？]\s*$|(?:です|ます|でしょう)か。?$|[吗嗎呢]。?$")  # noqa: RUF001


def sentences(text: str) -> list[str]:
    """Return the sentences of a text in order, each on one line and shortened, without pasted text."""
    found: list[str] = []
    for piece in _END.split(_LINK.sub("", _PASTED.sub("\n", text))):
        piece = one_line(piece)
        if found and _ABBREVIATED.search(found[-1]) and piece:
            found[-1] = f"{found[-1]} {piece}"
        elif len(piece) >= SHORTEST_SENTENCE:
            found.append(piece.lstrip("-*•· "))
    return [shortened(sentence, LONGEST_SENTENCE) for sentence in found]


def asks(sentence: str) -> bool:
    """Check whether a sentence is a question."""
    return _ASKS.search(sentence.rstrip("\"'”») ")) is not None
