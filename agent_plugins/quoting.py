"""Quoting of values in prompts: one line, short and escaped, so that they cannot act as instructions or markup."""

import json
import re
from typing import Any

from mcp_memory_server import one_line

LONGEST_VALUE = 200

# Line ends of every kind, other control characters, and those that reverse the direction of text.
_NOT_ON_A_LINE = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]+")
_MARKUP = {ord("<"): "&lt;", ord(">"): "&gt;", ord("`"): "'"}


def quoted(value: Any, most: int = LONGEST_VALUE) -> str:
    """Return the value as data: a text in double quotes, anything else as JSON, cut to ``most`` characters."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    line = one_line(_NOT_ON_A_LINE.sub(" ", text)).encode(errors="replace").decode()
    if len(line) > most:
        line = line[: most - 1].rstrip() + "…"
    rendered = json.dumps(line, ensure_ascii=False) if isinstance(value, str) else line
    return rendered.translate(_MARKUP)
