"""Scoring: what the coarse vectors count beside fine ones."""

import pytest

from mcp_memory_server.adapters.built_in.search.scoring import understood
from mcp_memory_server.domain.language.word_forms import language_of, words_of


@pytest.mark.parametrize(
    ("text", "factor"),
    [
        ("Where does her brother live?", 1.0),
        ("Schrödinger", 1.0),
        ("Wo wohnt ihr Bruder?", 0.5),
        ("¿Dónde vive su hermano?", 0.5),
        ("兄はどこに住んでいる?", 0.0),
        ("Где живёт её брат?", 0.0),
    ],
)
def test_coarse_vectors_count_less_the_further_a_language_is_from_english(text: str, factor: float) -> None:
    assert understood(text, language_of(words_of(text))) == factor
