"""The published tokenizer of the BERT family: WordPiece."""

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

UNKNOWN = "[UNK]"
"""The token of a word that has no known pieces."""

_INSIDE = "##"
_LONGEST_WORD = 100
_REMEMBERED_WORDS = 16_384
_REMEMBERED_CHARACTERS = 4_096
_REPLACEMENT = 0xFFFD

# Written without spaces between words, so that each sign is one. Japanese syllables and Korean are not among them.
_IDEOGRAPHS = (
    range(0x4E00, 0xA000),
    range(0x3400, 0x4DC0),
    range(0x20000, 0x2A6E0),
    range(0x2A700, 0x2B740),
    range(0x2B740, 0x2B820),
    range(0x2B920, 0x2CEB0),
    range(0xF900, 0xFB00),
    range(0x2F800, 0x2FA20),
)


class WordPieces:
    """Returns the token ids of a text.

    Names such as ``[MASK]`` are text like any other. The categories of characters are those of this Python; the
    published tokenizer knows some signs of rare scripts that were added to Unicode since 2016 as others.
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._vocabulary = vocabulary
        self._unknown = (vocabulary[UNKNOWN],)
        self._characters = _Characters()
        # Words repeat, and a lookup is faster than tokenizing them again.
        self._pieces_of = lru_cache(_REMEMBERED_WORDS)(self._cut)

    def ids(self, text: str) -> list[int]:
        """Return the number of each piece, in order; the one of ``[UNK]`` for each word that cannot be cut."""
        if not text.isascii():
            text = unicodedata.normalize("NFD", text)
        return [piece for word in text.translate(self._characters).split() for piece in self._pieces(word)]

    def _pieces(self, word: str) -> tuple[int, ...]:
        return self._pieces_of(word) if len(word) <= _LONGEST_WORD else self._unknown

    def _cut(self, word: str) -> tuple[int, ...]:
        """Return the longest known piece at the beginning, then the longest of what is left, to the end."""
        pieces: list[int] = []
        start, prefix = 0, ""
        while start < len(word):
            ends = range(len(word), start, -1)
            end = next((end for end in ends if prefix + word[start:end] in self._vocabulary), None)
            if end is None:
                return self._unknown
            pieces.append(self._vocabulary[prefix + word[start:end]])
            start, prefix = end, _INSIDE
        return tuple(pieces)


class _Characters(dict[int, str]):
    """What becomes of each character of a decomposed text. Filled as characters occur, up to a limit."""

    def __missing__(self, code: int) -> str:
        character = _become(chr(code))
        if len(self) < _REMEMBERED_CHARACTERS:
            self[code] = character
        return character


def _become(character: str) -> str:
    """Return nothing for accents and control characters, the sign set apart for punctuation, else small letters."""
    category = unicodedata.category(character)
    if category.startswith("Z") or character in "\t\n\r":
        return " "
    if category in ("Cc", "Cf", "Co", "Cs", "Mn") or ord(character) == _REPLACEMENT:
        return ""
    if _is_apart(character, category):
        return f" {character} "
    return character.lower()


def _is_apart(character: str, category: str) -> bool:
    is_ascii_sign = character.isascii() and not character.isalnum()
    return is_ascii_sign or category.startswith("P") or any(ord(character) in signs for signs in _IDEOGRAPHS)
