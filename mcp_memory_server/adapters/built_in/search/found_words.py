"""Found words: how much of the question's words each document and each session holds."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mcp_memory_server.adapters.built_in.search.columns import Numbers, Rows
from mcp_memory_server.adapters.built_in.search.document_rows import DocumentRows
from mcp_memory_server.adapters.built_in.search.scoring import rarity, term_weights
from mcp_memory_server.adapters.built_in.search.sessions import ALONE
from mcp_memory_server.domain.language.spelling import near_words
from mcp_memory_server.domain.language.stop_words import ENGLISH
from mcp_memory_server.domain.language.word_forms import forms, is_piece
from mcp_memory_server.domain.recall.documents import NO_STATISTICS, Statistics

SMALLEST_SIZE = 100
"""In a store of a few documents every word looks common. It is weighed as if the store had at least this many."""
NEGLIGIBLE = 0.02
"""A word with less than this share of the question is in almost every document: it says nothing and takes long."""
CORRECTED_WEIGHT = 0.7
"""What a word counts that nobody said and that is one slip away from one that somebody did."""
LANGUAGES = 3
"""A question is looked up in the forms of English and of so many languages that most documents are in."""


@dataclass(frozen=True)
class FoundWords:
    """What each row holds of the question's words that somebody said, from 0 to 1, rare words counting more.

    In a script without spaces words are looked up by their signs. There those count too that nobody said: a text that
    holds two signs of a word of six holds a third of it.
    """

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
    """Its weight by itself; by its rarity once that is known."""
    is_piece: bool
    """Whether it is only signs of a word. Then it counts although nobody said it: the other signs are not the word."""
    elsewhere: int = 0
    """How many documents of other indexes hold it. Then it counts too, although nobody said it here."""


def find_words(documents: DocumentRows, asked: Mapping[str, float], beside: Statistics = NO_STATISTICS) -> FoundWords:
    """Return how much of the asked words, each with its weight, the documents hold."""
    size = max(len(documents) + beside.alone + beside.in_sessions, SMALLEST_SIZE)
    words = _looked_up(documents, asked, beside)
    holders = [documents.postings.holders(word.terms) + word.elsewhere for word in words]
    weights = [word.weight * rarity(held, size) for word, held in zip(words, holders, strict=True)]
    weighed = list(zip(words, weights, strict=True))
    known = sum(weight for word, weight in weighed if word.terms or word.elsewhere)
    counted = known + sum(weight for word, weight in weighed if word.is_piece and not (word.terms or word.elsewhere))
    weighty = [(word, weight / counted) for word, weight in weighed if word.terms and weight >= NEGLIGIBLE * counted]
    if not weighty:
        return FoundWords(np.zeros(documents.size, np.float32), np.zeros_like(documents.sessions.lengths()), 0.0)
    return FoundWords(*_shares(documents, weighty), known / sum(weights))


def count_holders(documents: DocumentRows, asked: Iterable[str]) -> dict[str, int]:
    """Return how many documents hold each of these words."""
    names = list(dict.fromkeys(asked))
    words = _each_looked_up(documents, dict.fromkeys(names, 1.0), NO_STATISTICS)
    return {name: documents.postings.holders(word.terms) for name, word in zip(names, words, strict=True)}


def _looked_up(documents: DocumentRows, asked: Mapping[str, float], beside: Statistics) -> list[_Word]:
    words = _each_looked_up(documents, asked, beside)
    return list({word.terms or number: word for number, word in enumerate(words)}.values())


def _each_looked_up(documents: DocumentRows, asked: Mapping[str, float], beside: Statistics) -> list[_Word]:
    languages = dict.fromkeys([ENGLISH, *documents.languages(LANGUAGES)])
    in_languages = [forms(list(asked), language, documents.stem) for language in languages]
    variants = zip(asked, zip(*in_languages, strict=True), strict=True)
    return [
        _known(documents, tuple(dict.fromkeys(terms)), asked[name], beside.holding.get(name, 0))
        for name, terms in variants
    ]


def _known(documents: DocumentRows, terms: Sequence[str], weight: float, elsewhere: int) -> _Word:
    known = tuple(filter(documents.postings.knows, terms))
    if known or elsewhere or is_piece(terms[0]):
        return _Word(known, 1.0, weight, is_piece(terms[0]), elsewhere)
    near = tuple(filter(documents.postings.knows, set(near_words(terms[0]))))
    return _Word(near, CORRECTED_WEIGHT, weight, is_piece=False)


def _shares(documents: DocumentRows, weighty: Sequence[tuple[_Word, float]]) -> tuple[Numbers, Numbers]:
    """Return how much the rows, and how much the sessions, hold of words that have these shares of the question."""
    rows, counts, lengths = documents.postings.holding([term for word, _ in weighty for term in word.terms])
    shares = np.array([word.certainty * share for word, share in weighty for _ in word.terms], np.float32)
    held = np.zeros(documents.size, np.float32)
    weights = term_weights(counts, documents.lengths[rows], documents.average_length())
    np.add.at(held, rows, np.repeat(shares, lengths) * weights)
    numbers = np.repeat([number for number, (word, _) in enumerate(weighty) for _ in word.terms], lengths)
    return held, _shares_of_sessions(documents, [word for word, _ in weighty], rows, numbers)


def _shares_of_sessions(documents: DocumentRows, words: Sequence[_Word], rows: Rows, numbers: Rows) -> Numbers:
    """Return the same for sessions, against the best one. The rows hold the words of these numbers."""
    lengths = documents.sessions.lengths()
    if len(lengths) == 1:  # there is none
        return np.zeros(1, np.float32)
    places = numbers * len(lengths) + documents.sessions.number_of[rows]
    counts = np.bincount(places, minlength=len(words) * len(lengths)).reshape(len(words), -1).astype(np.float32)
    counts[:, ALONE] = 0
    sessions = int(np.count_nonzero(lengths)) or 1
    holding = np.count_nonzero(counts, axis=1).tolist()
    weights = [word.certainty * word.weight * rarity(held, sessions) for word, held in zip(words, holding, strict=True)]
    shares = np.einsum("i,ij->j", weights, term_weights(counts, lengths, float(lengths.sum()) / sessions or 1.0))
    return (shares / (shares.max() or 1)).astype(np.float32)
