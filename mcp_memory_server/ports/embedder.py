"""Embedding: turn texts into vectors, so that a text is found by its meaning whatever words it uses."""

from collections.abc import Sequence
from typing import Protocol


class Embedder(Protocol):
    """Turns texts into vectors of one model, in the form that ``domain.vectors`` describes.

    A method may be awaited from any event loop, never blocks it, and may run many times at once.
    """

    @property
    def model(self) -> str:
        """The name stored beside each vector. Vectors under another name must not be compared with these."""
        ...

    @property
    def dimensions(self) -> int:
        """The number of bytes of a vector."""
        ...

    @property
    def runs_here(self) -> bool:
        """Whether the model runs in this process, and so costs neither a request nor money."""
        ...

    @property
    def is_loaded(self) -> bool:
        """Whether the model runs in this process and is loaded, so that a vector takes only a moment."""
        ...

    def prepare(self) -> None:
        """Start loading a model that runs in this process, and return at once. Calling it twice is harmless."""
        ...

    async def embed(self, texts: Sequence[str], *, as_question: bool = False) -> Sequence[bytes]:
        """Return a vector for each text, in their order. The same text always gets the same vector.

        ``as_question`` says that the texts are questions; some models embed questions differently from answers. No text
        is refused: a blank one gets a vector of zeros, of a very long one only the beginning counts, and unknown
        characters are skipped. Any number of texts is allowed, none included.

        Raises:
            UnavailableError: The model did not answer. A model that runs in this process does not raise it.
            ConfigurationError: The model cannot be called with these settings.
        """
        ...

    async def close(self) -> None:
        """Release all resources. Closing twice is harmless."""
        ...
