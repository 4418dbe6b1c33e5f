"""Found words: how much of the question's words each document and each session holds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mcp_memory_server.adapters.built_in.columns import Numbers, Rows
from mcp_memory_server.adapters.built_in.document_rows import DocumentRows
from mcp_memory_server.adapters.built_in.scoring import rarity, term_weights
from mcp_memory_server.adapters.built_in.sessions import ALONE
from mcp_memory_server.domain.spelling import near_words
from mcp_memory_server.domain.stop_words import ENGLISH
from mcp_memory_server.domain.word_forms import forms

SMALLEST_SIZE = 100
"""In a store of a few documents every word looks common. It is weighed as if the store had at least this many."""
NEGLIGIBLE = 0.02
"""A word with less than this share of the question is in almost every document: it tells nothing and takes long."""
CORRECTED_WEIGHT = 0.7
"""What a word counts that nobody said and that is one slip away from one that somebody did."""
LANGUAGES = 3
"""A question is looked up in the forms of English and of so many languages that most documents are in."""


@dataclass(frozen=True)
class FoundWords:
    """What each row holds of the question's words that somebody said, from 0 to 1, rare words counting more."""

    rows: Numbers
    sessions: Numbers
    """The same for sessions, against the best one."""
    known: float
    """The share of the question's words that somebody said at all."""


@dataclass(frozen=True)
class _Word:
    terms: tuple[str, ...]
    certainty: float
    weight: float
    """How much it tells by itself; by its rarity once that is known."""


def find_words(documents: DocumentRows, asked: Mapping[str, float]) -> FoundWords:
    """Return how much of the asked words, each with its weight, the documents hold."""
    size = max(len(documents), SMALLEST_SIZE)
    words = _looked_up(documents, asked)
    weights = [word.weight * rarity(documents.postings.holders(word.terms), size) for word in words]
    known = sum(weight for word, weight in zip(words, weights, strict=True) if word.terms)
    rows = np.zeros(documents.size, np.float32)
    sessions = np.zeros(len(documents.sessions.lengths()), np.float32)
    for word, weight in zip(words, weights, strict=True):
        if word.terms and weight >= NEGLIGIBLE * known:
            holding = [_add_up(documents, term, word.certainty * weight / known, rows) for term in word.terms]
            _add_up_sessions(documents, holding, word.certainty * word.weight, sessions)
    return FoundWords(rows, sessions / (sessions.max(initial=0) or 1), known / (sum(weights) or 1))


def _looked_up(documents: DocumentRows, asked: Mapping[str, float]) -> list[_Word]:
    languages = dict.fromkeys([ENGLISH, *documents.languages(LANGUAGES)])
    in_languages = [forms(list(asked), language, documents.stem) for language in languages]
    variants = zip(zip(*in_languages, strict=True), asked.values(), strict=True)
    words = (_known(documents, tuple(dict.fromkeys(terms)), weight) for terms, weight in variants)
    return list({word.terms or number: word for number, word in enumerate(words)}.values())


def _known(documents: DocumentRows, terms: Sequence[str], weight: float) -> _Word:
    known = tuple(filter(documents.postings.knows, terms))
    if known:
        return _Word(known, 1.0, weight)
    return _Word(tuple(filter(documents.postings.knows, set(near_words(terms[0])))), CORRECTED_WEIGHT, weight)


def _add_up(documents: DocumentRows, term: str, weight: float, shares: Numbers) -> Rows:
    rows, counts = documents.postings.holding(term)
    shares[rows] += weight * term_weights(counts, documents.lengths[rows], documents.average_length())
    return rows


def _add_up_sessions(documents: DocumentRows, holding: Sequence[Rows], weight: float, shares: Numbers) -> None:
    lengths = documents.sessions.lengths()
    if len(lengths) == 1:  # there is none
        return
    numbers = documents.sessions.number_of[np.concatenate(holding)]
    counts = np.bincount(numbers, minlength=len(lengths)).astype(np.float32)
    counts[ALONE] = 0
    sessions = int(np.count_nonzero(lengths)) or 1
    weight *= rarity(int(np.count_nonzero(counts)), sessions)
    shares += weight * term_weights(counts, lengths, float(lengths.sum()) / sessions or 1.0)
