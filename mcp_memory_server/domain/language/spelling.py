"""Spelling: the words that a misspelled one may have been meant to be."""

from collections.abc import Iterator
from string import ascii_lowercase

SHORTEST = 5
"""Shorter ones have too many others beside them. Stems count: that of allergic has six letters."""
LONGEST = 30
"""Longer ones are hardly words, and would take long."""


def near_words(word: str) -> Iterator[str]:
    """Yield every word one slip away: a letter missing, swapped with the next one, another one, or one too many.

    The first letter is taken as right. A short word, or one with a digit, is not thought to be misspelled.
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
