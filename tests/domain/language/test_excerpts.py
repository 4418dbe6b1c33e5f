"""An excerpt of a long text is the part that was asked for, and says that it is one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.language.excerpts import excerpt

LONG = "We talked about the weather. " * 30
VIOLIN = "My sister repairs violins in Cremona. "


def test_a_short_text_is_returned_unchanged() -> None:
    assert excerpt(VIOLIN, {"violin"}, 100) == VIOLIN


@pytest.mark.parametrize("asked", ["violin", "violinist", "cremona"])
def test_the_part_with_the_asked_word_is_returned_from_the_beginning_of_its_sentence(asked: str) -> None:
    told = excerpt(LONG + VIOLIN + LONG, {asked}, 160)

    assert told.startswith("… My sister repairs violins in Cremona.")
    assert told.endswith(" …")


def test_a_short_excerpt_holds_the_asked_word_too() -> None:
    sentence = "After a very long day on which hardly anything went as it should she repairs violins in Cremona. "

    assert "violins" in excerpt(LONG + sentence + LONG, {"violin"}, 80)


def test_the_part_with_the_most_different_words_is_returned() -> None:
    text = "A violin! " + LONG + VIOLIN + LONG + "Cremona again. "

    assert "My sister repairs violins in Cremona" in excerpt(text, {"violin", "cremona", "sister"}, 160)


def test_signs_of_a_script_without_spaces_are_found_within_a_sentence() -> None:
    text = (
        "今日はとても良い天気でした。" * 40
        + "姉はクレモナでバイオリンを直しています。"
        + "今日はとても良い天気でした。" * 40
    )

    assert "バイオリン" in excerpt(text, {"バイ", "イオ", "リン"}, 80)


def test_without_an_asked_word_the_beginning_is_returned() -> None:
    assert excerpt(VIOLIN + LONG, {"quark"}, 60).startswith("My sister repairs violins")


@given(st.text(), st.sets(st.text(min_size=1, max_size=6), max_size=5), st.integers(10, 300))
def test_an_excerpt_is_never_longer_than_allowed_and_holds_only_what_was_said(
    text: str, asked: set[str], most: int
) -> None:
    told = excerpt(text, asked, most)

    assert len(told) <= max(most, 0)
    assert told == text or told.strip("… ") in text
