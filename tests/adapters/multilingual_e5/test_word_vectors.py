"""Vectors of questions that are added up from those of their words lie where the model puts the question."""

import pytest

from mcp_memory_server.adapters.multilingual_e5.model import load_model
from mcp_memory_server.adapters.multilingual_e5.word_vectors import WordVectors
from mcp_memory_server.domain.kernel.vectors import closeness
from tests.engines.word_vectors import DIRECTIONS, common_words

QUESTIONS = (
    "Where does my sister live?",
    "Can you book a table for dinner tonight?",
    "Which medicine must I never take?",
    "How do I get to the office?",
)


@pytest.fixture(scope="module")
def words() -> WordVectors:
    return WordVectors()


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_of_known_words_lies_beside_the_same_question_and_far_from_others(
    words: WordVectors, question: str
) -> None:
    model, vector = load_model(use_onnxruntime=False), words.vector(question)

    assert vector is not None
    own = closeness(vector, model.vector(question, as_question=True))
    others = [closeness(vector, model.vector(other, as_question=True)) for other in QUESTIONS if other != question]
    assert own > 0.25
    assert own > max(others) + 0.15


def test_a_single_word_keeps_nearly_all_of_its_vector(words: WordVectors) -> None:
    model, some = load_model(use_onnxruntime=False), common_words()[:: len(common_words()) // 20]

    found = {word: vector for word in some if (vector := words.vector(word)) is not None}

    assert len(found) > 15  # the others are stop words of another language
    for word, vector in found.items():
        assert closeness(vector, model.vector(word, as_question=True)) > DIRECTIONS / 384


@pytest.mark.parametrize(
    "question",
    ["Wo wohnt meine Schwester?", "妹はどこに住んでいますか", "Rogério Albuquerque, Recife?", "", "2031", "and the?"],
)
def test_a_question_of_which_too_little_is_known_is_left_to_the_model(words: WordVectors, question: str) -> None:
    assert words.vector(question) is None


def test_numbers_neither_count_nor_need_to_be_known(words: WordVectors) -> None:
    assert words.vector("order 4711") == words.vector("order")
