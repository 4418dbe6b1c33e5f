"""Rankings to compare: ours, and the plain ones that it has to beat."""

from collections.abc import Callable, Sequence

import numpy as np

from mcp_memory_server.adapters.built_in.search.document_rows import DocumentRows
from mcp_memory_server.adapters.built_in.search.found_words import find_words
from mcp_memory_server.adapters.built_in.search.search_index import BuiltInSearchIndex
from mcp_memory_server.adapters.built_in.search.stemmer import stem
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.language.word_forms import asked_words
from tests.bench.recall.measures import Said
from tests.bench.recall.stores import Question, Store

LIMIT = 20
RRF_CONSTANT = 60

Ranking = Callable[[Question, Vectors], Sequence[Said]]
"""Returns the best documents for a question and its vector; what was said more than once is one of them."""


def ours(store: Store, vectors: Sequence[Vectors]) -> Ranking:
    index = BuiltInSearchIndex(stem)
    index.add(store.documents, vectors)
    return lambda question, vector: [
        {match.id, *match.also}
        for match in index.search([(question.text, vector)], asked_at=question.asked_at, limit=LIMIT)
    ]


def without_vectors(store: Store, vectors: Sequence[Vectors]) -> Ranking:
    index = BuiltInSearchIndex(stem)
    index.add(store.documents)
    return lambda question, _: [
        {match.id, *match.also}
        for match in index.search([(question.text, Vectors())], asked_at=question.asked_at, limit=LIMIT)
    ]


def newest_first(store: Store, vectors: Sequence[Vectors]) -> Ranking:
    newest = [{document.id} for document in sorted(store.documents, key=lambda document: document.at)][
        : -LIMIT - 1 : -1
    ]
    return lambda *_: newest


def words_only(store: Store, vectors: Sequence[Vectors]) -> Ranking:
    """BM25 on text, speaker and date, and nothing else."""
    documents = _rows(store, vectors)
    return lambda question, _: _best(documents, find_words(documents, asked_words(question.text)).rows)


def meaning_only(store: Store, vectors: Sequence[Vectors]) -> Ranking:
    documents = _rows(store, vectors)
    return lambda _, vector: _best(documents, documents.coarse.cosines(documents.all_rows(), vector.coarse or b""))


def fine_meaning_only(store: Store, vectors: Sequence[Vectors]) -> Ranking:
    """The fine model alone, which only short memories have vectors of."""
    documents = _rows(store, vectors)
    return lambda _, vector: _best(documents, documents.fine.cosines(documents.all_rows(), vector.fine or b""))


def ranks_fused(store: Store, vectors: Sequence[Vectors]) -> Ranking:
    """Reciprocal rank fusion of words and meaning."""
    documents = _rows(store, vectors)

    def ranked(question: Question, vector: Vectors) -> Sequence[Said]:
        words = find_words(documents, asked_words(question.text)).rows
        meaning = documents.coarse.cosines(documents.all_rows(), vector.coarse or b"")
        return _best(documents, _reciprocal(words) + _reciprocal(meaning))

    return ranked


def sum_of_words_and_meaning(store: Store, vectors: Sequence[Vectors]) -> Ranking:
    """Words and meaning scaled to the best of each and added, without anything about context."""
    documents = _rows(store, vectors)

    def ranked(question: Question, vector: Vectors) -> Sequence[Said]:
        words = find_words(documents, asked_words(question.text)).rows
        meaning = documents.coarse.cosines(documents.all_rows(), vector.coarse or b"")
        scaled = (meaning - meaning.min()) / (np.ptp(meaning) or 1)
        return _best(documents, 0.55 * words / (words.max() or 1) + 0.45 * scaled)

    return ranked


RANKINGS: dict[str, Callable[[Store, Sequence[Vectors]], Ranking]] = {
    "ours": ours,
    "ours-without-vectors": without_vectors,
    "newest": newest_first,
    "bm25": words_only,
    "dense": meaning_only,
    "fine": fine_meaning_only,
    "rrf": ranks_fused,
    "sum": sum_of_words_and_meaning,
}


def _rows(store: Store, vectors: Sequence[Vectors]) -> DocumentRows:
    documents = DocumentRows(stem)
    for document, vector in zip(store.documents, vectors, strict=True):
        documents.add(document, vector)
    return documents


def _best(documents: DocumentRows, scores: np.ndarray) -> list[Said]:
    return [{documents.ids[row]} for row in np.argsort(-scores, kind="stable")[:LIMIT]]


def _reciprocal(scores: np.ndarray) -> np.ndarray:
    ranks = np.empty(len(scores))
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return 1 / (RRF_CONSTANT + ranks)
