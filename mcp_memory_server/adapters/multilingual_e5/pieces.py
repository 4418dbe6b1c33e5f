"""The published tokenizer of the model: SentencePiece with a unigram vocabulary."""

import unicodedata
from collections.abc import Mapping, Sequence
from functools import lru_cache

UNKNOWN = 3
"""The number that stands for characters that are in no piece."""

_WORD_START = "\u2581"
_UNCHANGED = "\uff5e"
"""The wide tilde, which the published normaliser keeps although Unicode's would replace it."""
_UNKNOWN_PENALTY = 10.0
_REMEMBERED_WORDS = 16_384

_DROPPED = [*range(0x09), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F]
_SPACES = [0x09, 0x0A, 0x0C, 0x0D, 0x1680, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2581, 0xFEFF, 0xFFFD]
_CLEANED: Mapping[int, str] = {**dict.fromkeys(_DROPPED, ""), **dict.fromkeys(_SPACES, " ")}


class Pieces:
    """Returns the token ids of a text: for each word the pieces with the best total score."""

    def __init__(self, vocabulary: Sequence[str], scores: Sequence[float]) -> None:
        self._scores = scores
        self._numbers = {piece: number for number, piece in enumerate(vocabulary) if number > UNKNOWN}
        self._longest = max(map(len, self._numbers))
        self._unknown_score = min(scores) - _UNKNOWN_PENALTY
        # Words repeat, and a lookup is faster than tokenizing them again.
        self._pieces_of = lru_cache(_REMEMBERED_WORDS)(self._cut)

    def ids(self, text: str, limit: int) -> list[int]:
        """Return the number of each piece, at most ``limit`` of them; none for a blank text."""
        ids: list[int] = []
        for word in normalise(text).split(" "):
            if len(ids) >= limit:
                break
            if word:
                ids += self._pieces_of(_WORD_START + word)
        return ids[:limit]

    def _cut(self, word: str) -> tuple[int, ...]:
        """Return the best pieces. A run of unknown characters is one piece."""
        best = [0.0] + [-float("inf")] * len(word)
        last = [(0, UNKNOWN)] * (len(word) + 1)
        for start in range(len(word)):
            for end in range(start + 1, min(len(word), start + self._longest) + 1):
                number = self._numbers.get(word[start:end])
                if number is not None and best[start] + self._scores[number] > best[end]:
                    best[end] = best[start] + self._scores[number]
                    last[end] = (start, number)
            if best[start] + self._unknown_score > best[start + 1]:
                best[start + 1] = best[start] + self._unknown_score
                last[start + 1] = (start, UNKNOWN)
        return _way_back(last)


def normalise(text: str) -> str:
    """Return the text with equivalent characters made one, control characters dropped and white space as spaces."""
    if text.isascii():
        return text.translate(_CLEANED)
    parts = text.translate(_CLEANED).split(_UNCHANGED)
    return _UNCHANGED.join(unicodedata.normalize("NFKC", part) for part in parts)


def _way_back(last: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    ids: list[int] = []
    end = len(last) - 1
    while end > 0:
        end, number = last[end]
        if not (number == UNKNOWN and ids and ids[-1] == UNKNOWN):
            ids.append(number)
    return tuple(reversed(ids))
