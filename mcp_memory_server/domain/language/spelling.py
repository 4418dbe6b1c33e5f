"""Spelling variants of a misspelled word."""

from collections.abc import Iterator
from string import ascii_lowercase

SHORTEST = 5
"""Shorter words have too many neighbours. Stems count: that of "allergic" has six letters."""
LONGEST = 30
"""Longer strings are hardly words, and would have too many variants."""


def near_words(word: str) -> Iterator[str]:
    """Yield every word that is one slip away: a letter missing, added, changed, or swapped with the next one.

    The first letter is taken as right. A short word, or one with a digit, has no variants.
    """
    if not SHORTEST <= len(word) <= LONGEST or not word.isalpha() or not word.isascii():
        return
    for place in range(1, len(word) + 1):
        before, after = word[:place], word[place:]
        yield from (before + letter + after for letter in ascii_lowercase)
        if after:
            yield before + after[1:]
            yield from (before + letter + after[1:] for letter in ascii_lowercase)
        if len(after) > 1:
            yield before + after[1] + after[0] + after[2:]
