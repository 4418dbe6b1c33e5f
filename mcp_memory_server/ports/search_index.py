"""A search index: the memories of one user, found by words, by meaning and by their circumstances."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.recall.documents import Document, Match, Prior


class SearchIndex(Protocol):
    """A copy of what is stored, which can be made again from it. Two threads must not use it at once."""

    def __len__(self) -> int:
        """Return how many documents there are."""
        ...

    def __contains__(self, document_id: object) -> bool:
        """Tell whether there is a document with this id."""
        ...

    def add(self, documents: Sequence[Document], vectors: Sequence[Vectors] | None = None) -> None:
        """Index the documents, with the vectors of their texts where there are any.

        A document with the id of an earlier one replaces it. All coarse vectors are of one model, all fine ones of one.
        """
        ...

    def remove(self, ids: Iterable[str]) -> None:
        """Forget the documents. An id that is not there is a no-op."""
        ...

    def same_as(self, document_id: str) -> list[str]:
        """Return the other documents that were said in the same words by the same one; none if it is not there.

        By chance there may be another one among them, once in a very long time: whoever acts on it looks at them.
        """
        ...

    def beside(self, document_id: str, reach: int) -> tuple[list[str], list[str]]:
        """Return what was said before the document and what was said after it in its session, the nearest first.

        At most ``reach`` each; none where it stands alone, is not there, or is the first or the last.
        """
        ...

    def alike(self, document_id: str, limit: int) -> list[tuple[str, float]]:
        """Return the documents that are closest in meaning to this one, closest first, each with its cosine.

        Only documents that stand alone are compared, by fine vectors if this one has one and by coarse ones if not.
        None is returned for a document that is not there, or has no vector.
        """
        ...

    def search(
        self,
        questions: Sequence[tuple[str, Vectors]],
        *,
        asked_at: datetime,
        limit: int,
        only: Collection[str] | None = None,
        prior: Prior | None = None,
        explain: bool = False,
        few_weak: bool = True,
    ) -> list[Match]:
        """Return the documents that answer one of the questions best, the most probable first, at most ``limit``.

        The best there is is always returned, with a low probability if it is hardly an answer, but only a few of those
        (``domain.likelihood``), unless not ``few_weak``. A question without a telling word ("what is it?") finds
        nothing. What was said more than once is one match. What is past comes after what holds; ``only`` names what may
        be found, past or not, without a difference. Only to ``explain`` are the parts of scores returned.
        """
        ...
