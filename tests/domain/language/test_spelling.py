"""Which words a misspelled one may have been meant to be."""

import pytest

from mcp_memory_server.domain.language.spelling import near_words


@pytest.mark.parametrize("misspelled", ["alergic", "allergicc", "allregic", "allergik"])
def test_a_word_is_one_slip_away_from_what_was_meant(misspelled: str) -> None:
    assert "allergic" in set(near_words(misspelled))


@pytest.mark.parametrize("word", ["", "bern", "2024abc", "東京東京東京", "x" * 31])
def test_short_words_and_what_is_no_word_are_taken_as_they_are(word: str) -> None:
    assert list(near_words(word)) == []
