"""Vectors of single words, made in advance by a model that takes long."""

from typing import Protocol


class KnownWords(Protocol):
    """Approximates the vector of a question by those of its words, so that the model need not run.

    A method never blocks, and may be called from any thread.
    """

    def vector(self, question: str) -> bytes | None:
        """Return the vector in the form that ``domain.vectors`` describes; None if too few words are known."""
        ...
