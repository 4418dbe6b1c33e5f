"""Decide whether a sentence says what a forgotten fact said, in other words, and take such sentences out of a text.

A fact and the sentence that it came from share neither grammar nor all of their words: "The user was diagnosed with
HIV in March." and "I am sorry to hear about the HIV diagnosis." Closeness of meaning and the share of its words that
the sentence repeats decide together. `tests/services/users/test_restatements.py` measures the weights.
"""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from mcp_memory_server.domain.language.calendar_words import MONTHS
from mcp_memory_server.domain.language.mentions import content_words

FORGOTTEN = "[forgotten]"
"""Stands for a sentence that was forgotten."""

WEIGHT_OF_WORDS, THRESHOLD = 0.55, 0.65
"""How much repeated words count beside the cosine of the fine model, and from which sum on a sentence is the same."""
WEIGHT_OF_WORDS_COARSE, THRESHOLD_COARSE = 1.5, 0.98
"""The same for the coarse model, where there is no fine one."""
WORDS_ALONE = 0.75
"""Where there is no vector, so much of the words must be repeated."""

_LIKE_FROM = 4
_END = re.compile(r"[.!?]+[\"'”»)]*(?=\s|$)|[。！？]+[」』”]*|\n+")  # noqa: RUF001
_OF_EVERYBODY = frozenset(
    ["user", "nutzer", "nutzerin", "benutzer", "benutzerin", "usuario", "usuaria", "ユー", "ーザ", "ザー", "用户"]
)


@dataclass(frozen=True)
class Closeness:
    """The cosines of a sentence and a fact, None without a model."""

    coarse: float | None = None
    fine: float | None = None


def share_of_words(fact: str, sentence: str) -> float:
    """Return how much of the words of the fact the sentence repeats, by their letters; inflected words count too."""
    wanted = {word for word in content_words(fact) - _OF_EVERYBODY if word not in MONTHS}
    found = content_words(sentence)
    letters = sum(map(len, wanted))
    return (
        sum(len(word) for word in wanted if any(_are_alike(word, other) for other in found)) / letters
        if letters
        else 0.0
    )


def says_the_same(fact: str, sentence: str, closeness: Closeness) -> bool:
    """Check whether the sentence gives the fact away."""
    words = share_of_words(fact, sentence)
    if closeness.fine is not None:
        return closeness.fine + WEIGHT_OF_WORDS * words >= THRESHOLD
    if closeness.coarse is not None:
        return closeness.coarse + WEIGHT_OF_WORDS_COARSE * words >= THRESHOLD_COARSE
    return words >= WORDS_ALONE


def spans(text: str) -> list[tuple[int, int]]:
    """Return where the sentences of a text begin and end, without the white space around them."""
    found: list[tuple[int, int]] = []
    place = 0
    for end in [*(match.end() for match in _END.finditer(text)), len(text)]:
        piece = text[place:end]
        if piece.strip():
            found.append((place + len(piece) - len(piece.lstrip()), place + len(piece.rstrip())))
        place = end
    return found


def sentences_of(text: str) -> list[str]:
    """Return the sentences of a text as `without_sentences` knows them."""
    return [text[start:end] for start, end in spans(text)]


def without_sentences(text: str, unwanted: Collection[str]) -> tuple[str, int]:
    """Return the text with each of these sentences replaced, and how many that were."""
    kept, place, count = "", 0, 0
    for start, end in spans(text):
        if text[start:end] in unwanted:
            if not kept.endswith(FORGOTTEN) or text[place:start].strip():
                kept += text[place:start] + FORGOTTEN
            place, count = end, count + 1
    return kept + text[place:], count


def data_without(data: Any, facts: Collection[str]) -> tuple[Any, int]:
    """Return plain data with the sentences replaced that repeat a fact word by word, and how many that were."""
    match data:
        case str():
            unwanted = {
                one for one in sentences_of(data) if any(share_of_words(fact, one) >= WORDS_ALONE for fact in facts)
            }
            return without_sentences(data, unwanted)
        case Mapping():
            entries = {name: data_without(value, facts) for name, value in cast("Mapping[str, Any]", data).items()}
            return {name: value for name, (value, _) in entries.items()}, _sum(entries.values())
        case list() | tuple():
            values = [data_without(value, facts) for value in cast("list[Any]", data)]
            return [value for value, _ in values], _sum(values)
        case _:
            return data, 0


def _sum(entries: Iterable[tuple[Any, int]]) -> int:
    return sum(count for _, count in entries)


def _are_alike(one: str, other: str) -> bool:
    """Check whether two words are the same or inflections of one: most of their letters, from the first on."""
    if one == other:
        return True
    shorter, longer = sorted((len(one), len(other)))
    shared = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    return shared >= _LIKE_FROM and shared >= 0.6 * shorter and shared >= longer / 2
