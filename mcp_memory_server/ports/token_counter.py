"""Counting tokens, so that a reply keeps the budget that its reader gave."""

from typing import Protocol


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def __call__(self, text: str) -> int:
        """Return how many tokens a model would read. Never raises; an estimate is rather too high than too low."""
        ...
