"""Under which terms texts and questions are looked up."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.language.word_forms import UNSPACED, asked_words, language_of, terms_of, words_of


def cut_to_five(language: str, words: list[str]) -> list[str]:
    return [word[:5] for word in words]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Anna's cat can't swim", ["anna", "s", "cat", "can", "t", "swim"]),
        ("snake_case, 95 %", ["snake", "case", "95"]),
        ("\uff21\uff22\uff11", ["ab1"]),
        ("東京", ["東", "京", "東京"]),
        ("犬の名前", ["犬", "名", "前", "名前"]),
        ("コーヒー", ["コー", "ーヒ", "ヒー"]),
        ("PyCon東京", ["pycon", "東", "京", "東京"]),
        ("", []),
    ],
)
def test_a_text_is_cut_into_words_and_signs(text: str, words: list[str]) -> None:
    assert words_of(text) == words


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Where does my sister live?", "english"),
        ("Bern", "english"),
        ("Wo wohnt meine Schwester?", "german"),
        ("¿Dónde vive mi hermana?", "spanish"),
        ("Où est-ce que ma sœur habite?", "french"),
        ("Dove abita mia sorella?", "italian"),
        ("Onde é que a minha irmã mora?", "portuguese"),
        ("Где живёт моя сестра?", "russian"),
        ("妹はどこに住んでいますか?", UNSPACED),
        ("我妹妹住在哪里?", UNSPACED),
    ],
)
def test_the_language_is_recognised_by_script_and_stop_words(text: str, language: str) -> None:
    assert language_of(words_of(text)) == language


def test_a_text_is_indexed_by_stems_without_accents_and_without_stop_words() -> None:
    assert terms_of("Das Café schließt für die Feiertage", cut_to_five) == ("german", ["cafe", "schli", "feier"])


def test_a_stop_word_of_one_language_is_a_word_of_another() -> None:
    assert list(asked_words("What did the man say about the war?")) == ["man", "say", "war"]


def test_words_about_asking_weigh_less_than_what_is_asked_for() -> None:
    words = asked_words("Can you remind me of the hostel from our previous conversation?")

    assert words["hostel"] == 1
    assert max(words["remind"], words["previous"], words["conversation"]) < 0.5


def test_japanese_endings_weigh_less_than_signs_of_content() -> None:
    words = asked_words("京都で何を予約しましたか")

    assert words["予約"] == 1
    assert max(words["しま"], words["した"]) < words["予"] < words["予約"]


def test_a_question_of_stop_words_asks_nothing() -> None:
    assert asked_words("What is it?") == {}


@given(st.text(max_size=100))
def test_any_text_can_be_indexed_and_asked(text: str) -> None:
    _, terms = terms_of(text, cut_to_five)

    assert all(terms)
    assert all(0 < weight <= 1 for weight in asked_words(text).values())
