"""The words by which texts are found, in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.language.words import STOP_WORDS, words


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The user's dogs", ["user", "dog"]),
        ("two cities, three buses", ["two", "city", "three", "buse"]),
        ("glass status analysis gas", ["glass", "status", "analysis", "gas"]),
        ("ÉCOLE Straße", ["école", "strasse"]),
        ("snake_case e-mail", ["snake", "case", "e", "mail"]),
        ("東京に住む", ["東京", "京に", "に住", "住む"]),
        ("山", ["山"]),
        ("서울에서 일한다", ["서울", "울에", "에서", "일한", "한다"]),
        ("iPhone东京2", ["iphone", "东京", "2"]),
        ("ｆｕｌｌ ｗｉｄｔｈ", ["full", "width"]),  # noqa: RUF001 - these letters are the case
        ("", []),
        ("🦊 !!!", []),
    ],
)
def test_a_text_is_cut_into_words(text: str, found: list[str]) -> None:
    expected = [word for word in found if word not in STOP_WORDS]

    assert words(text) == expected


@pytest.mark.parametrize(
    "question", ["what do you know about me?", "Wer bin ich? das", "¿Qué es?", "Tell me everything"]
)
def test_a_question_may_have_no_content_word(question: str) -> None:
    assert set(words(question)) <= {"bin"}


@given(st.text(max_size=60))
def test_the_words_of_any_text_are_found_in_it(text: str) -> None:
    assert all(word and word not in STOP_WORDS for word in words(text))
    assert words(text) == words(text.replace("\n", " "))


def test_singular_and_plural_are_the_same_word() -> None:
    assert words("dogs cats stories") == words("dog cat story")
