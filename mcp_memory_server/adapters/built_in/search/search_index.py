"""The search index of one user: one ranking for memories of every kind, in process.

It is a copy that can be made again from what is stored, and holds no texts. Two threads must not use it at once.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

import numpy as np
from numpy.typing import NDArray

from mcp_memory_server.adapters.built_in.search import scoring
from mcp_memory_server.adapters.built_in.search.columns import Numbers, Rows
from mcp_memory_server.adapters.built_in.search.document_rows import DocumentRows
from mcp_memory_server.adapters.built_in.search.families import FAMILIES, OF_FINE_FACTS, OF_TURNS
from mcp_memory_server.adapters.built_in.search.found_words import FoundWords, count_holders, find_words
from mcp_memory_server.adapters.built_in.search.highest import highest
from mcp_memory_server.adapters.built_in.search.near_duplicates import repetitions_last, said_once
from mcp_memory_server.adapters.built_in.search.questions import Question
from mcp_memory_server.adapters.built_in.search.scored_rows import (
    Families,
    Hit,
    ScoredRows,
    best_of_each,
    odds_of,
    samples_of,
)
from mcp_memory_server.adapters.built_in.search.scoring import Parts
from mcp_memory_server.adapters.built_in.search.sessions import NOBODY
from mcp_memory_server.domain.kernel.vectors import NO_VECTORS, Vectors
from mcp_memory_server.domain.language.question_dates import Span, times_asked_for
from mcp_memory_server.domain.language.word_forms import Stemmer, asked_words
from mcp_memory_server.domain.recall.documents import (
    NO_STATISTICS,
    Document,
    Match,
    Prior,
    Samples,
    ScoreSample,
    Statistics,
)
from mcp_memory_server.domain.recall.likelihood import RELATED_FROM, most_weak
from mcp_memory_server.domain.recall.question_forms import asks_for_the_past

SCORED_COMPLETELY = 1_000
"""In a store of up to so many documents each is scored."""
CANDIDATES = 200
"""In a larger one so many are that share the most words, so many that are closest in meaning by each model, and those
beside them."""
SAMPLE = 300
"""So many documents, spread over a larger store, show how unrelated ones score."""

PAST_PENALTY = 1.5
"""How much the odds of what no longer holds are lowered (as a logarithm), so that it comes after what holds."""
ASKED_FOR_BY_TIME = 0.0
"""The odds (as a logarithm) of what was said at the time that a question asks for, and for nothing else."""
_WORDS = np.array([family.words for family in FAMILIES], np.float32)
_COARSE = np.array([family.coarse for family in FAMILIES], np.float32)
_FINE = np.array([family.fine for family in FAMILIES], np.float32)

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

    def add(self, documents: Sequence[Document], vectors: Sequence[Vectors] | None = None) -> None:
        """See the port."""
        for document, vector in zip(documents, vectors or [NO_VECTORS] * len(documents), strict=True):
            self._documents.remove(document.id)
            self._documents.add(document, vector)

    def remove(self, ids: Iterable[str]) -> None:
        """See the port."""
        for document_id in ids:
            self._documents.remove(document_id)

    def same_as(self, document_id: str) -> list[str]:
        """See the port."""
        return self._documents.same_as(document_id)

    def beside(self, document_id: str, reach: int) -> tuple[list[str], list[str]]:
        """See the port."""
        return self._documents.beside(document_id, reach)

    def alike(self, document_id: str, limit: int) -> list[tuple[str, float]]:
        """See the port."""
        return self._documents.alike(document_id, limit)

    def statistics(self, words: Collection[str]) -> Statistics:
        """See the port."""
        in_sessions = self._documents.sessions.size
        return Statistics(len(self) - in_sessions, in_sessions, count_holders(self._documents, words))

    def score_samples(
        self,
        questions: Sequence[tuple[str, Vectors]],
        *,
        asked_at: datetime,
        only: Collection[str] | None = None,
        beside: Statistics = NO_STATISTICS,
    ) -> Samples:
        """See the port."""
        asked = self._asked(questions, asked_at)
        if not len(self):
            return tuple((ScoreSample(),) * len(FAMILIES) for _ in asked)
        return tuple(self._scores(question, only, beside)[-1] for question in asked)

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
        """See the port."""
        if not len(self):
            return []
        asked = self._asked(questions, asked_at)
        scored = [self._scored(question, only, beside, place) for place, question in enumerate(asked)]
        lower_past = only is None and not any(asks_for_the_past(text) for text, _ in questions)
        matches = self._best(scored, limit, prior, lower_past=lower_past, explain=explain)
        return (without_most_weak(matches) if few_weak else matches)[:limit]

    def _asked(self, questions: Sequence[tuple[str, Vectors]], asked_at: datetime) -> list[Question]:
        """Return the questions with a word that can be searched for."""
        asked = (self._question(text, vectors, asked_at) for text, vectors in questions)
        return [question for question in asked if question.words]

    def _question(self, text: str, vectors: Vectors, asked_at: datetime) -> Question:
        coarse = vectors.coarse if self._documents.coarse.dimensions else None
        fine = vectors.fine if self._documents.fine.dimensions else None
        return Question(text, Vectors(coarse, fine), asked_words(text), times_asked_for(text, asked_at))

    def _scored(self, asked: Question, only: Collection[str] | None, beside: Statistics, place: int) -> ScoredRows:
        rows, families, parts, samples = self._scores(asked, only, beside)
        size = len(self) if only is None else len(rows)
        odds = odds_of(parts.total(), families, samples, size, beside, place)
        if asked.asks_only_for_a_time:
            odds = np.maximum(odds, ASKED_FOR_BY_TIME)
        return ScoredRows(rows, families, parts, odds)

    def _scores(
        self, asked: Question, only: Collection[str] | None, beside: Statistics
    ) -> tuple[Rows, Families, Parts, tuple[ScoreSample, ...]]:
        """Return the candidates, with the parts of their scores, and how the store scores in general."""
        found = find_words(self._documents, asked.words, beside)
        rows = self._candidates(asked, found, only)
        is_sample = np.ones(len(rows), np.bool_)
        if only is None and len(self) > SCORED_COMPLETELY:
            rows, is_sample = _with_sample(rows, self._documents.sample(SAMPLE), self._documents.size)
        families = self._documents.families(rows, asked.vectors)
        parts = self._parts(rows, families, asked, found)
        return rows, families, parts, samples_of(parts.total(), families, is_sample)

    def _candidates(self, asked: Question, found: FoundWords, only: Collection[str] | None) -> Rows:
        if only is not None:
            rows = self._documents.rows_of(only)
        elif asked.asks_only_for_a_time or len(self) <= SCORED_COMPLETELY:
            rows = self._documents.all_rows()
        else:
            return self._closest(asked, found)
        return rows[self._near(rows, asked.times.spans) == 1] if asked.asks_only_for_a_time else rows

    def _closest(self, asked: Question, found: FoundWords) -> Rows:
        documents = self._documents
        chosen = np.zeros(documents.size + 1, np.bool_)  # the last place is for the neighbour that is nobody
        chosen[highest(found.rows, CANDIDATES)] = True
        if asked.vectors.coarse is not None:
            chosen[documents.coarse.nearest(asked.vectors.coarse, CANDIDATES, documents.size)] = True
        if asked.vectors.fine is not None:
            chosen[documents.fine.nearest(asked.vectors.fine, CANDIDATES, documents.size)] = True
        rows = np.flatnonzero(chosen[:NOBODY])
        sessions = documents.sessions
        if not sessions.number_of[rows].any():  # single facts have nobody beside them
            return rows
        chosen[sessions.before[rows]] = True
        chosen[sessions.after[rows]] = True
        return np.flatnonzero(chosen[:NOBODY])

    def _parts(self, rows: Rows, families: Families, asked: Question, found: FoundWords) -> Parts:
        documents = self._documents
        words, meaning = self._own(rows, families, asked, found)
        in_session = families == OF_TURNS
        speakers = documents.speakers.asked_for(asked.spoken, asked.role)
        return Parts(
            words,
            meaning,
            self._borrowed(rows, words + meaning, asked, found),
            scoring.SPEAKER_WEIGHT * speakers[documents.speakers.number_of[rows]] * in_session,
            scoring.SESSION_WEIGHT * found.sessions[documents.sessions.number_of[rows]],
            np.where(in_session, scoring.TIME_WEIGHT, scoring.TIME_WEIGHT_OF_FACTS)
            * self._near(rows, asked.times.spans),
        )

    def _own(self, rows: Rows, families: Families, asked: Question, found: FoundWords) -> tuple[Numbers, Numbers]:
        """Return what words and meaning are worth in each row, as its family weighs them."""
        documents = self._documents
        words = _WORDS[families] * found.rows[rows]
        meaning = np.zeros(len(rows), np.float32)
        if asked.vectors.coarse is not None:
            coarse = documents.coarse
            close = scoring.meaning(coarse.cosines(rows, asked.vectors.coarse), coarse.has_vector(rows))
            meaning += self._coarse_weights(rows, families, asked) * close
        if asked.vectors.fine is not None:
            meaning += _FINE[families] * documents.fine.cosines(rows, asked.vectors.fine)
        return words, meaning

    def _coarse_weights(self, rows: Rows, families: Families, asked: Question) -> Numbers:
        """Return what the coarse vectors count: beside fine ones only as far as their model knows the language."""
        known = np.minimum(self._documents.understood[rows], np.float32(asked.understood))
        return _COARSE[families] * np.where(families == OF_FINE_FACTS, known, np.float32(1))

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
        turns = np.full(len(missing), OF_TURNS, np.int8)
        scores[rows], scores[missing] = own, np.add(*self._own(missing, turns, asked, found))
        return scoring.borrowed(scores[before], scores[after], self._documents.characters[rows])

    def _near(self, rows: Rows, spans: Sequence[Span]) -> Numbers:
        near = np.zeros(len(rows), np.float32)
        moments = self._documents.moments[rows] if spans else near
        for span in spans:
            near = np.maximum(near, scoring.nearness_in_time(moments, span.start.timestamp(), span.end.timestamp()))
        return near

    def _best(
        self, found: Sequence[ScoredRows], limit: int, prior: Prior | None, *, lower_past: bool, explain: bool
    ) -> list[Match]:
        hits = best_of_each(found, max(int(REORDERED * limit), FEWEST_REORDERED))
        odds = self._adjusted(hits, prior, lower_past=lower_past)
        ids, statements = self._documents.ids, self._documents.statements
        ranked = sorted(hits, key=lambda row: (-odds[row], ids[row]))
        said = said_once(ranked, dict(zip(ranked, statements[ranked].tolist(), strict=True)))
        first = np.array(list(said), np.intp)
        return [
            Match(
                ids[row],
                1 / (1 + math.exp(-odds[row])),
                hits[row].parts() if explain else {},
                tuple(ids[other] for other in said[row]),
            )
            for row in first[repetitions_last(first, self._documents)].tolist()
        ]

    def _adjusted(self, hits: Mapping[int, Hit], prior: Prior | None, *, lower_past: bool) -> dict[int, float]:
        """Return the odds of the rows after what is known about each whatever the question."""
        odds = {row: hit.odds for row, hit in hits.items()}
        if prior is not None:
            factors = prior([self._documents.ids[row] for row in hits])
            for hit, factor in zip(hits.values(), factors, strict=True):
                odds[hit.row] += hit.moved_by(factor)
        if lower_past:
            for row in self._documents.past_among(hits):
                odds[row] -= PAST_PENALTY
        return odds


def _with_sample(rows: Rows, sample: Rows, size: int) -> tuple[Rows, NDArray[np.bool_]]:
    """Return the rows and those of the sample, in rising order, and which of them are of the sample."""
    chosen, sampled = np.zeros(size, np.bool_), np.zeros(size, np.bool_)
    chosen[rows], chosen[sample], sampled[sample] = True, True, True
    both = np.flatnonzero(chosen)
    return both, sampled[both]


def without_most_weak(matches: Sequence[Match]) -> list[Match]:
    """Return the matches without all but a few of those that are weak."""
    clear = [match for match in matches if match.probability >= RELATED_FROM]
    weak = [match for match in matches if match.probability < RELATED_FROM]
    return [*clear, *weak[: most_weak([match.probability for match in clear])]]
