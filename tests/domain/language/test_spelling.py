"""Spelling variants of misspelled words."""

import pytest

from mcp_memory_server.domain.language.spelling import near_words


@pytest.mark.parametrize("misspelled", ["alergic", "allergicc", "allregic", "allergik"])
def test_the_meant_word_is_one_slip_away(misspelled: str) -> None:
    assert "allergic" in set(near_words(misspelled))


@pytest.mark.parametrize("word", ["", "bern", "2024abc", "東京東京東京", "x" * 31])
def test_short_words_and_other_strings_have_no_variants(word: str) -> None:
    assert list(near_words(word)) == []
