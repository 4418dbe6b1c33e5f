"""Cut the part out of a long text that has to do with a question."""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice

ELLIPSIS = "…"

_LEAD = 100
"""The most characters before the first asked word, back to the beginning of a sentence if there is one."""
_MOST_PLACES = 200
_SHORTEST_STEM = 4
_BEGINNING = re.compile(r"(?<=[.!?。！？\n])\s*")  # noqa: RUF001 - also the full stops of other scripts


def excerpt(text: str, asked: Collection[str], most: int) -> str:
    """Return at most ``most`` characters of the text around the most asked words, with ellipses where it was cut."""
    if len(text) <= most:
        return text
    start = _start(text, asked, most, min(_LEAD, most // 2))
    room = most - 2 * (len(ELLIPSIS) + 1)
    if start + room >= len(text):
        start = max(0, len(text) - room)
    cut = text[start : start + room].strip()
    before = f"{ELLIPSIS} " if start else ""
    return before + cut + (f" {ELLIPSIS}" if start + room < len(text) else "")


def _start(text: str, asked: Collection[str], room: int, lead: int) -> int:
    """Return the start of the part with the most different asked words, including some text before it."""
    places = _places(text, asked)
    length = room - lead
    most, best, end = 0, 0, 0
    within: Counter[str] = Counter()
    for at, word in places:
        while end < len(places) and places[end][0] - at < length:
            within[places[end][1]] += 1
            end += 1
        if len(within) > most:
            most, best = len(within), at
        within[word] -= 1
        if not within[word]:
            del within[word]
    return _beginning(text, best, lead) if places else 0


def _places(text: str, asked: Collection[str]) -> list[tuple[int, str]]:
    """Return the places of the asked words in order. A word is found by its stem, so that its other forms are found
    too.
    """
    # A few characters have lower-case forms of another length, which would move the places.
    lowered = text.lower() if len(text.lower()) == len(text) else text
    # Words of scripts without spaces are short and have no stem.
    stems = {word if not word.isascii() else word[: max(_SHORTEST_STEM, 2 * len(word) // 3)] for word in asked}
    return sorted((at, stem) for stem in stems for at in islice(_found(lowered, stem), _MOST_PLACES))


def _found(text: str, stem: str) -> Iterator[int]:
    at = text.find(stem)
    while at >= 0:
        if not stem.isascii() or not at or not text[at - 1].isalnum():
            yield at
        at = text.find(stem, at + 1)


def _beginning(text: str, place: int, lead: int) -> int:
    earliest = max(0, place - lead)
    sentences = [match.end() for match in _BEGINNING.finditer(text, earliest, place + 1) if match.end() <= place]
    if sentences:
        return sentences[-1]
    if earliest == 0:
        return 0
    space = text.find(" ", earliest, place)
    return place if space < 0 else space + 1
