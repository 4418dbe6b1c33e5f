"""Split a broad query into its parts, so that each part finds its own memories.

"food: diet, allergies, dislikes" and "work project, boss, what he likes" are lists of things to look up, and so is
"What are my allergies and where do I work?". A sentence with a comma usually is not.
"""

import re

MOST_ASPECTS = 6
"""So many parts are searched separately; further ones are found by the whole query."""
LONGEST_LISTED = 6
"""The most words of a part of a list. Longer parts are clauses of a sentence."""

_LIST = re.compile(r"[,;、，；/]|\s[-–]\s|\n|\s(?:and|und|y|e|et|&|\+)\s")  # noqa: RUF001 - also the commas of other scripts
_QUESTIONS = re.compile(r"(?<=[?？])\s*")  # noqa: RUF001
_HEADING = re.compile(r"^([^:：]{1,60})[:：]\s*(.+)$", re.DOTALL)  # noqa: RUF001
_SENTENCE = re.compile(r"[.!?。！？]")  # noqa: RUF001


def aspects_of(query: str) -> list[str]:
    """Return what to search for besides the whole query; nothing if the query has only one part.

    A heading belongs to each of its parts: "food: diet, allergies" asks for "food diet" and for "food allergies".
    """
    questions = [part.strip() for part in _QUESTIONS.split(query) if part.strip()]
    if len(questions) > 1:
        return questions[:MOST_ASPECTS]
    if _SENTENCE.search(query):
        return []
    heading = _HEADING.match(query.strip())
    prefix, listed = heading.groups() if heading else ("", query)
    parts = [part.strip() for part in _LIST.split(listed) if part.strip()]
    if len(parts) < 2 or any(len(part.split()) > LONGEST_LISTED for part in parts):
        return []
    return [f"{prefix} {part}".strip() for part in parts[:MOST_ASPECTS]]
