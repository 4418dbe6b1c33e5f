"""Document rows: what the index keeps of each document. A row number that becomes free is used again."""

from collections import Counter
from collections.abc import Iterable

import numpy as np

from mcp_memory_server.adapters.built_in.search.columns import Rows, with_room
from mcp_memory_server.adapters.built_in.search.families import OF_FACTS, OF_FINE_FACTS, OF_TURNS
from mcp_memory_server.adapters.built_in.search.postings import Postings
from mcp_memory_server.adapters.built_in.search.scored_rows import Families
from mcp_memory_server.adapters.built_in.search.scoring import understood
from mcp_memory_server.adapters.built_in.search.sessions import ALONE, Sessions
from mcp_memory_server.adapters.built_in.search.speakers import Speakers
from mcp_memory_server.adapters.built_in.search.vector_rows import VectorRows
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.language.stop_words import ENGLISH
from mcp_memory_server.domain.language.word_forms import Stemmer, forms, terms_of, words_of
from mcp_memory_server.domain.recall.documents import Document

COMPARED = 300
"""So many documents, the closest by signature, are compared in meaning with another one."""


class DocumentRows:
    """Terms, vectors, sessions and speakers of all documents. Adding and removing one does not touch the others."""

    def __init__(self, stem: Stemmer) -> None:
        self.stem = stem
        self.postings = Postings()
        self.coarse = VectorRows()
        self.fine = VectorRows()
        self.sessions = Sessions()
        self.speakers = Speakers()
        self.lengths = np.empty(0, np.float32)
        self.characters = np.empty(0, np.float32)
        self.moments = np.empty(0, np.float64)
        self.statements = np.empty(0, np.int64)
        self.understood = np.empty(0, np.float32)
        self.ids: list[str] = []
        self._rows: dict[str, int] = {}
        self._free: list[int] = []
        self._languages: list[str] = []
        self._past: set[int] = set()
        self._in_language: Counter[str] = Counter()
        self._total_length = 0

    def __len__(self) -> int:
        return len(self._rows)

    def __contains__(self, document_id: object) -> bool:
        return document_id in self._rows

    @property
    def size(self) -> int:
        """How many rows there are, free ones included."""
        return len(self.ids)

    def add(self, document: Document, vectors: Vectors) -> None:
        """Write a document that is not there yet."""
        row = self._free_row(document.id)
        language, terms = terms_of(document.text, self.stem)
        context = forms(words_of(document.context), ENGLISH, self.stem)
        length = len(terms) + len(context)
        self._languages[row] = language
        self._in_language[language] += 1
        self._total_length += length
        self.postings.add(row, terms, context)
        self.coarse.put(row, vectors.coarse)
        self.fine.put(row, vectors.fine)
        self.speakers.put(row, document.speaker)
        self.sessions.add(row, document.session, document.at.timestamp(), length)
        self._measure(row, length, document)
        if document.is_past:
            self._past.add(row)

    def remove(self, document_id: str) -> None:
        """Forget a document. One that is not there is a no-op."""
        row = self._rows.pop(document_id, None)
        if row is None:
            return
        length = int(self.lengths[row])
        self.postings.remove(row)
        self.coarse.put(row, None)
        self.fine.put(row, None)
        self.sessions.remove(row, length)
        self._total_length -= length
        self._in_language[self._languages[row]] -= 1
        self._past.discard(row)
        self._free.append(row)

    def same_as(self, document_id: str) -> list[str]:
        """Return the other documents with the same statement."""
        if (row := self._rows.get(document_id)) is None:
            return []
        same = [self.ids[other] for other in np.flatnonzero(self.statements[: self.size] == self.statements[row])]
        return [one for one in same if one != document_id and one in self._rows]

    def beside(self, document_id: str, reach: int) -> tuple[list[str], list[str]]:
        """Return up to so many documents before and after one in its session, the nearest first."""
        if (row := self._rows.get(document_id)) is None:
            return [], []
        before, after = self.sessions.beside(row, reach)
        return [self.ids[other] for other in before], [self.ids[other] for other in after]

    def alike(self, document_id: str, limit: int) -> list[tuple[str, float]]:
        """Return the documents that stand alone and are closest in meaning to this one, with their cosines."""
        if (row := self._rows.get(document_id)) is None:
            return []
        vectors = self.fine if self.fine.vector(row) else self.coarse
        vector = vectors.vector(row)
        if vector is None:
            return []
        rows = vectors.nearest(vector, COMPARED, self.size)
        rows = rows[(self.sessions.number_of[rows] == ALONE) & vectors.has_vector(rows) & (rows != row)]
        cosines = vectors.cosines(rows, vector)
        return [(self.ids[rows[place]], float(cosines[place])) for place in np.argsort(-cosines)[:limit].tolist()]

    def rows_of(self, ids: Iterable[str]) -> Rows:
        """Return the rows of those documents that are there, in rising order."""
        return np.array(sorted({self._rows[document_id] for document_id in ids if document_id in self._rows}), np.intp)

    def all_rows(self) -> Rows:
        """Return the rows of all documents, in rising order."""
        taken = np.ones(self.size, np.bool_)
        taken[self._free] = False
        return np.flatnonzero(taken)

    def past_among(self, rows: Iterable[int]) -> list[int]:
        """Return those of the rows that hold what is past."""
        return [row for row in rows if row in self._past]

    def sample(self, most: int) -> Rows:
        """Return about so many rows, spread evenly over all documents."""
        rows = self.all_rows()
        return rows[:: max(len(rows) // most, 1)]

    def families(self, rows: Rows, asked: Vectors) -> Families:
        """Return the family of each row, for a question with these vectors."""
        families = np.full(len(rows), OF_FACTS, np.int8)
        if asked.fine is not None:
            families[self.fine.has_vector(rows)] = OF_FINE_FACTS
        families[self.sessions.number_of[rows] != ALONE] = OF_TURNS
        return families

    def languages(self, limit: int) -> list[str]:
        """Return the languages that most documents are in."""
        return [language for language, documents in self._in_language.most_common(limit) if documents]

    def average_length(self) -> float:
        """Return how many terms a document has on average."""
        return self._total_length / len(self) if self._total_length else 1.0

    def _free_row(self, document_id: str) -> int:
        row = self._free.pop() if self._free else self.size
        if row == self.size:
            self.ids.append(document_id)
            self._languages.append(ENGLISH)
        self.ids[row] = document_id
        self._rows[document_id] = row
        return row

    def _measure(self, row: int, length: int, document: Document) -> None:
        self.lengths = with_room(self.lengths, row)
        self.characters = with_room(self.characters, row)
        self.moments = with_room(self.moments, row)
        self.statements = with_room(self.statements, row)
        self.understood = with_room(self.understood, row)
        self.understood[row] = understood(document.text, self._languages[row])
        self.lengths[row] = length
        self.characters[row] = len(document.text)
        self.moments[row] = document.at.timestamp()
        self.statements[row] = hash(document.statement)
