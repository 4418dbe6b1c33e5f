"""Text is checked once, and compared without regard to how it was typed."""

import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.text import checked_text, ever_shorter, fingerprint, one_line, shortened
from mcp_memory_server.errors import InvalidRequestError, TooLargeError

ascii_words = st.lists(st.text("abcdefghij0123456789", min_size=1, max_size=6), min_size=1, max_size=6)
spaces = st.text(" \t\n", min_size=1, max_size=3)


@given(ascii_words, spaces, st.text(" .!?", max_size=3), st.sampled_from([str, str.upper, str.title]))
def test_the_fingerprint_ignores_case_spacing_and_final_punctuation(
    parts: list[str], space: str, end: str, typed_as: Callable[[str], str]
) -> None:
    typed = typed_as(space.join(parts) + end)

    assert fingerprint(typed) == fingerprint(" ".join(parts))


@given(ascii_words, ascii_words)
def test_other_words_have_another_fingerprint(one: list[str], other: list[str]) -> None:
    assert (fingerprint(" ".join(one)) == fingerprint(" ".join(other))) == (one == other)


@given(st.text(min_size=1, max_size=30))
def test_the_fingerprint_ignores_the_unicode_form(text: str) -> None:
    forms = {fingerprint(unicodedata.normalize(form, text)) for form in ("NFC", "NFD", "NFKC", "NFKD")}

    assert forms == {fingerprint(text)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Bern", "Lives in Berne"),
        ("1.5 litres", "15 litres"),
        ("likes C++", "likes C"),
        ("paypal", "p\u0430yp\u0430l"),
        ("is a vegetarian", "isn't a vegetarian"),
    ],
)
def test_what_means_something_else_has_another_fingerprint(one: str, other: str) -> None:
    assert fingerprint(one) != fingerprint(other)


def test_a_fingerprint_can_be_read_aloud() -> None:
    assert set("".join(fingerprint(str(number)) for number in range(500))) == set("0123456789abcdefghjkmnpqrstvwxyz")
    assert len(fingerprint("x")) == 12


@given(st.text(max_size=60))
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1


@given(st.text(max_size=60), st.integers(1, 80))
def test_a_shortened_text_has_at_most_so_many_characters(text: str, most: int) -> None:
    cut = shortened(text, most)

    assert len(cut) <= most
    assert cut == text or cut.endswith("…")


@given(st.text(max_size=300))
def test_ever_shorter_texts_come_to_an_end(text: str) -> None:
    lengths = [len(cut) for cut in ever_shorter(text)]

    assert lengths == sorted(lengths, reverse=True)
    assert lengths[-1] <= 3 or len(text) <= 3


def test_white_space_around_a_text_is_dropped_and_within_is_kept() -> None:
    assert checked_text("fact", "  two\n lines\t ", 100) == "two\n lines"


def test_a_limit_counts_bytes() -> None:
    assert checked_text("fact", "é" * 50, 100) == "é" * 50
    with pytest.raises(TooLargeError, match="at most 100 bytes long, got 102"):
        checked_text("fact", "é" * 51, 100)


@pytest.mark.parametrize(("text", "named"), [("\x00", "U\\+0000"), ("a\x1bb", "U\\+001B"), ("\x7f", "U\\+007F")])
def test_a_control_character_is_refused_by_name(text: str, named: str) -> None:
    with pytest.raises(InvalidRequestError, match=named):
        checked_text("fact", text, 100)
