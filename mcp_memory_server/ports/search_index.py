"""A search index: the memories of one user, found by words, by meaning, by time and by speaker."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Protocol

from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.recall.documents import NO_STATISTICS, Document, Match, Prior, Samples, Statistics


class SearchIndex(Protocol):
    """An in-memory index that can be rebuilt from the table. Two threads must not use it at once."""

    def __len__(self) -> int:
        """Return the number of documents."""
        ...

    def __contains__(self, document_id: object) -> bool:
        """Check whether there is a document with this id."""
        ...

    def add(self, documents: Sequence[Document], vectors: Sequence[Vectors] | None = None) -> None:
        """Index the documents, with the vectors of their texts where there are any.

        A document replaces an earlier one with the same id. All coarse vectors are of one model, and all fine ones of
        one.
        """
        ...

    def remove(self, ids: Iterable[str]) -> None:
        """Remove the documents. An id that is not there is a no-op."""
        ...

    def same_as(self, document_id: str) -> list[str]:
        """Return the other documents with the same words by the same speaker; none if the document is not there.

        Very rarely a hash collision adds another document: a caller that changes something compares the texts.
        """
        ...

    def beside(self, document_id: str, reach: int) -> tuple[list[str], list[str]]:
        """Return the documents before and after this one in its session, each list nearest first.

        At most ``reach`` each; none for a document that is not there or is in no session.
        """
        ...

    def alike(self, document_id: str, limit: int) -> list[tuple[str, float]]:
        """Return the documents that are closest in meaning to this one, closest first, each with its cosine.

        Only documents outside of sessions are compared, by fine vectors if this one has one and else by coarse ones.
        Nothing is returned for a document that is not there or has no vector.
        """
        ...

    def statistics(self, words: Collection[str]) -> Statistics:
        """Return the number of documents, and how many of them hold each of the words of a question."""
        ...

    def score_samples(
        self,
        questions: Sequence[tuple[str, Vectors]],
        *,
        asked_at: datetime,
        only: Collection[str] | None = None,
        beside: Statistics = NO_STATISTICS,
    ) -> Samples:
        """Return how the documents score in general, for each question by family, for searches of other indexes."""
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
        beside: Statistics = NO_STATISTICS,
    ) -> list[Match]:
        """Return at most ``limit`` documents that answer one of the questions, most probable first.

        The best match is always returned, with a low probability if it hardly answers, but only a few weak matches are
        (``domain.likelihood``), unless ``few_weak`` is false. A question without a content word ("what is it?") finds
        nothing. Documents with the same words are one match. Past facts come after current ones; ``only`` limits the
        result to these ids, past or current. ``explain`` adds the parts of the scores. ``beside`` are the statistics of
        indexes that the same question is asked of: the probabilities are those of one index with all documents.
        """
        ...
