"""The repository speaks ordinary technical English."""

from tests.project.vocabulary import DOCUMENTS, PRODUCT, found_in

MOST = 20
"""Some words are right where they stand: a stop word, a file's `tell`, a sentence that a model reads."""


def test_retired_words_are_rare_in_the_product_and_in_the_documents() -> None:
    found = found_in(*PRODUCT, *DOCUMENTS)

    assert sum(words.total() for words in found.values()) <= MOST, found
