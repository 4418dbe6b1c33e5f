"""Excerpts: the part of a long text that has to do with a question."""

import re
from collections.abc import Collection
from itertools import islice

ELLIPSIS = "…"

_LEAD = 100
"""So far before the first asked word an excerpt may begin, at the beginning of a sentence if there is one."""
_MOST_PLACES = 200
_SHORTEST_STEM = 4
_BEGINNING = re.compile(r"(?<=[.!?。！？\n])\s*")  # noqa: RUF001 - also the full stops of other scripts


def excerpt(text: str, asked: Collection[str], most: int) -> str:
    """Return at most so many characters of the text: those that hold the most of the asked words, marked as cut."""
    if len(text) <= most:
        return text
    start = _start(text, asked, most - _LEAD)
    room = most - 2 * (len(ELLIPSIS) + 1)
    if start + room >= len(text):
        start = max(0, len(text) - room)
    cut = text[start : start + room].strip()
    before = f"{ELLIPSIS} " if start else ""
    return before + cut + (f" {ELLIPSIS}" if start + room < len(text) else "")


def _start(text: str, asked: Collection[str], length: int) -> int:
    """Return where the stretch begins that holds the most different words, and a little before."""
    places = _places(text, asked)
    if not places:
        return 0
    best = max(places, key=lambda place: (len({word for at, word in places if 0 <= at - place[0] < length}), -place[0]))
    return _beginning(text, best[0])


def _places(text: str, asked: Collection[str]) -> list[tuple[int, str]]:
    # Other forms of a word mostly begin like it. In scripts without spaces words are short, and stand as they are.
    stems = {word: word if not word.isascii() else word[: max(_SHORTEST_STEM, 2 * len(word) // 3)] for word in asked}
    if not stems:
        return []
    spaced = [stem for stem in stems.values() if stem.isascii()]
    unspaced = [stem for stem in stems.values() if not stem.isascii()]
    forms = [rf"(?<![^\W_]){re.escape(stem)}" for stem in spaced] + [re.escape(stem) for stem in unspaced]
    found = re.finditer("|".join(sorted(forms, key=len, reverse=True)), text, re.IGNORECASE)
    return [(match.start(), match.group().casefold()) for match in islice(found, _MOST_PLACES)]


def _beginning(text: str, place: int) -> int:
    earliest = max(0, place - _LEAD)
    sentences = [match.end() for match in _BEGINNING.finditer(text, earliest, place + 1) if match.end() <= place]
    if sentences:
        return sentences[-1]
    if earliest == 0:
        return 0
    space = text.find(" ", earliest, place)
    return place if space < 0 else space + 1
