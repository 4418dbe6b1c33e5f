"""Stems of words, by the Snowball rules of their language."""

from functools import cache

import Stemmer

_KEPT_WORDS = 20_000
"""Stems that are remembered for each language: the same words come again and again."""


def stem(language: str, words: list[str]) -> list[str]:
    """Return the stem of each word. It is the stemmer that ``domain.word_forms`` asks for."""
    return _stemmer(language).stemWords(words)


@cache
def _stemmer(language: str) -> Stemmer.Stemmer:
    return Stemmer.Stemmer(language, _KEPT_WORDS)
