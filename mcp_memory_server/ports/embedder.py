"""Embedding: turning texts into vectors, so that what means the same is found although it is said in other words."""

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Turns texts into vectors of one model. They have the form that ``domain.vectors`` describes.

    A method may be awaited from any event loop and never blocks it. Many may be running at once.
    """

    @property
    def model(self) -> str:
        """The name that is kept beside each vector. Vectors under another name must not be compared with these."""
        ...

    @property
    def dimensions(self) -> int:
        """How many bytes a vector has."""
        ...

    @property
    def runs_here(self) -> bool:
        """Whether the model runs in this process, and so costs neither a request nor money."""
        ...

    @property
    def is_loaded(self) -> bool:
        """Whether a vector takes but a moment: the model runs here, and is loaded."""
        ...

    def prepare(self) -> None:
        """Begin to load a model that runs in this process, and return at once. Twice is harmless."""
        ...

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:
        """Return a vector for each text, in their order. The same text always has the same vector.

        ``as_question`` says that the texts ask for what is stored; some models place those elsewhere than what answers
        them. No text is refused: a blank one has a vector of zeros, of a very long one the beginning counts, and
        characters that no model could know are passed over. Any number of texts is taken, none at all included.

        Raises:
            UnavailableError: The model could not be asked now. What runs in this process does not raise it.
            ConfigurationError: The model cannot be asked with these settings.
        """
        ...

    async def close(self) -> None:
        """Let go of what is open. Closing twice is harmless."""
        ...
