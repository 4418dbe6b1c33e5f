"""Counting tokens, so that an answer keeps the budget that its reader gave it."""

from typing import Protocol


class TokenCounter(Protocol):
    """Counts the tokens of a text."""

    def __call__(self, text: str) -> int:
        """Return how many tokens a model would read. Never raises; at least as many as the estimate is honest for."""
        ...
