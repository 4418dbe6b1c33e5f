"""The search index of one user: one ranking for memories of every kind, in process.

It is a copy that can be made again from what is stored, and holds no texts. Two threads must not use it at once.
"""

import math
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime

import numpy as np

from mcp_memory_server.adapters.built_in import scoring
from mcp_memory_server.adapters.built_in.columns import Numbers, Rows
from mcp_memory_server.adapters.built_in.document_rows import DocumentRows
from mcp_memory_server.adapters.built_in.found_words import FoundWords, find_words
from mcp_memory_server.adapters.built_in.highest import highest
from mcp_memory_server.adapters.built_in.near_duplicates import repetitions_last, said_once
from mcp_memory_server.adapters.built_in.questions import Question
from mcp_memory_server.adapters.built_in.scoring import Parts
from mcp_memory_server.adapters.built_in.sessions import NOBODY
from mcp_memory_server.domain.documents import USER, Document, Match, Prior
from mcp_memory_server.domain.question_dates import Span, times_asked_for
from mcp_memory_server.domain.word_forms import Stemmer, asked_words

SCORED_COMPLETELY = 1_000
"""In a store of up to so many documents each is scored."""
CANDIDATES = 200
"""In a larger one so many are that share the most words, so many that are closest in meaning, and those beside them."""

FLOOR = 0.48
"""Nothing is found unless some document reaches this: the share of the question's words that it holds, plus how much
closer in meaning it is than any text."""
FLOOR_OF_WORDS = 0.09
"""The same without meaning: there are no vectors, or the script has no spaces, which small models do not understand."""
LARGE = 500
"""The more documents there are, the closer the closest is by chance. From so many on the floor holds; with one document
it is at ``LOWERED`` of it."""
LOWERED = 0.2
NAMED = 0.2
"""A question that names somebody who speaks here asks for something that is here: so much lower is the floor."""
OWN = 0.1
"""So much lower it is for a question about the asker ("I", "my"), which is asked of a memory and not of a lexicon."""
UNHEARD = 0.05
"""A question of which nobody ever said a word is found by meaning alone, and may be no question at all."""
FAR_BEHIND = 0.3
"""A document with less than this share of the best score is no answer."""
FIRST, BEHIND = 5, 0.55
"""Beyond the first few, one with less than this share is none either: where the answer is plain, the rest is noise."""
REORDERED, FEWEST_REORDERED = 1.5, 60
"""Priors and repetitions are looked at among this many times the limit, and among so many at least."""


class BuiltInSearchIndex:
    """Answers the port: finds documents by words, by meaning, and by who said them, when, and beside what."""

    def __init__(self, stem: Stemmer) -> None:
        self._documents = DocumentRows(stem)

    def __len__(self) -> int:
        return len(self._documents)

    def __contains__(self, document_id: object) -> bool:
        return document_id in self._documents

    def add(self, documents: Sequence[Document], vectors: Sequence[bytes | None] | None = None) -> None:
        """See the port."""
        for document, vector in zip(documents, vectors or [None] * len(documents), strict=True):
            self._documents.remove(document.id)
            self._documents.add(document, vector)

    def remove(self, ids: Iterable[str]) -> None:
        """See the port."""
        for document_id in ids:
            self._documents.remove(document_id)

    def same_as(self, document_id: str) -> list[str]:
        """See the port."""
        return self._documents.same_as(document_id)

    def search(
        self,
        question: str,
        vector: bytes | None = None,
        *,
        asked_at: datetime,
        limit: int,
        only: Collection[str] | None = None,
        prior: Prior | None = None,
        explain: bool = False,
    ) -> list[Match]:
        """See the port."""
        known = vector if self._documents.vectors.dimensions else None
        asked = Question(question, known, asked_words(question), times_asked_for(question, asked_at))
        if not asked.words or not len(self):
            return []
        found = find_words(self._documents, asked.words)
        rows = self._candidates(asked, found, only)
        if not len(rows):
            return []
        parts = self._scored(rows, asked, found)
        if not asked.asks_only_for_a_time and self._closeness(asked, parts, found).max() < self._floor(asked, found):
            return []
        return self._best(rows, parts, limit, prior, explain=explain)

    def _floor(self, asked: Question, found: FoundWords) -> float:
        if asked.is_judged_by_words:
            return FLOOR_OF_WORDS
        floor = FLOOR * (LOWERED + (1 - LOWERED) * min(1, math.log(len(self)) / math.log(LARGE)))
        if not found.known:
            floor += UNHEARD
        if asked.role == USER:
            floor -= OWN
        return floor - NAMED if self._documents.speakers.are_named(asked.spoken) else floor

    def _closeness(self, asked: Question, parts: Parts, found: FoundWords) -> Numbers:
        words = found.known * parts.words
        return words if asked.is_judged_by_words else words + np.maximum(parts.meaning, 0)

    def _candidates(self, asked: Question, found: FoundWords, only: Collection[str] | None) -> Rows:
        if only is not None:
            rows = self._documents.rows_of(only)
        elif asked.asks_only_for_a_time or len(self) <= SCORED_COMPLETELY:
            rows = self._documents.present(self._documents.all_rows())
        else:
            return self._documents.present(self._closest(asked, found))
        return rows[self._near(rows, asked.times.spans) == 1] if asked.asks_only_for_a_time else rows

    def _closest(self, asked: Question, found: FoundWords) -> Rows:
        chosen = np.zeros(self._documents.size + 1, np.bool_)  # the last place is for the neighbour that is nobody
        chosen[highest(found.rows, CANDIDATES)] = True
        if asked.vector is not None:
            chosen[self._documents.vectors.nearest(asked.vector, CANDIDATES, self._documents.size)] = True
        rows = np.flatnonzero(chosen[:NOBODY])
        sessions = self._documents.sessions
        if not sessions.number_of[rows].any():  # single facts have nobody beside them
            return rows
        chosen[sessions.before[rows]] = True
        chosen[sessions.after[rows]] = True
        return np.flatnonzero(chosen[:NOBODY])

    def _scored(self, rows: Rows, asked: Question, found: FoundWords) -> Parts:
        documents = self._documents
        words, meaning = self._own(rows, asked, found)
        speakers = documents.speakers.asked_for(asked.spoken, asked.role)
        return Parts(
            words,
            meaning,
            self._borrowed(rows, words + meaning, asked, found),
            scoring.SPEAKER_WEIGHT * speakers[documents.speakers.number_of[rows]],
            scoring.SESSION_WEIGHT * found.sessions[documents.sessions.number_of[rows]],
            scoring.TIME_WEIGHT * self._near(rows, asked.times.spans),
        )

    def _own(self, rows: Rows, asked: Question, found: FoundWords) -> tuple[Numbers, Numbers]:
        words = found.rows[rows]
        if asked.vector is None:
            return words, np.zeros(len(rows), np.float32)
        vectors = self._documents.vectors
        return words, scoring.meaning(vectors.cosines(rows, asked.vector), vectors.has_vector(rows))

    def _borrowed(self, rows: Rows, own: Numbers, asked: Question, found: FoundWords) -> Numbers:
        sessions = self._documents.sessions
        if not sessions.number_of[rows].any():
            return np.zeros(len(rows), np.float32)
        before, after = sessions.before[rows], sessions.after[rows]
        is_missing = np.zeros(self._documents.size + 1, np.bool_)  # the last place is for the neighbour that is nobody
        is_missing[before], is_missing[after] = True, True
        is_missing[rows], is_missing[NOBODY] = False, False
        missing = np.flatnonzero(is_missing)
        scores = np.zeros(self._documents.size + 1, np.float32)
        scores[rows], scores[missing] = own, np.add(*self._own(missing, asked, found))
        return scoring.borrowed(scores[before], scores[after], self._documents.characters[rows])

    def _near(self, rows: Rows, spans: Sequence[Span]) -> Numbers:
        near = np.zeros(len(rows), np.float32)
        moments = self._documents.moments[rows] if spans else near
        for span in spans:
            near = np.maximum(near, scoring.nearness_in_time(moments, span.start.timestamp(), span.end.timestamp()))
        return near

    def _best(self, rows: Rows, parts: Parts, limit: int, prior: Prior | None, *, explain: bool) -> list[Match]:
        totals, ids = parts.total(), self._documents.ids
        places = highest(totals, max(int(REORDERED * limit), FEWEST_REORDERED)).tolist()
        if not places:
            return []
        names, values = [ids[row] for row in rows[places].tolist()], totals[places].tolist()
        if prior is not None:
            values = [value * factor for value, factor in zip(values, prior(names), strict=True)]
        best = max(values)
        near = [one for one, value in enumerate(values) if value >= FAR_BEHIND * best]
        near.sort(key=lambda one: (-values[one], names[one]))
        said = said_once(near, self._documents.statements[rows[places]].tolist())
        first = list(said)
        order = repetitions_last(rows[[places[one] for one in first]], self._documents)[:limit]
        told = [first[rank] for rank in order]
        good = [one for rank, one in enumerate(told) if rank < FIRST or values[one] >= BEHIND * best]
        return [
            Match(
                names[one],
                values[one],
                parts.at(places[one]) if explain else {},
                tuple(names[other] for other in said[one]),
            )
            for one in good
        ]
