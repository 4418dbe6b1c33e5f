"""The token counter counts as tiktoken counts, from a file that says the same as the published one."""

import base64
import hashlib

import tiktoken
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.adapters.tiktoken import token_counter
from mcp_memory_server.adapters.tiktoken.token_counter import FIRST_TOKENS, count_tokens, load_exact, read_ranks

PUBLISHED = "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7"
"""The sha256 that tiktoken itself expects of cl100k_base.tiktoken."""


def test_the_file_says_the_same_as_the_published_one() -> None:
    lines = b"".join(base64.b64encode(token) + f" {rank}\n".encode() for token, rank in read_ranks().items())

    assert hashlib.sha256(lines).hexdigest() == PUBLISHED


def test_known_texts_have_their_known_counts() -> None:
    load_exact()

    assert count_tokens("") == 0
    assert count_tokens("hello world") == 2
    assert count_tokens("tiktoken is great!") == 6
    assert count_tokens("お誕生日おめでとう") == 9
    assert count_tokens("antidisestablishmentarianism") == 6


def with_the_first(most: int | None) -> tiktoken.Encoding:
    pieces = token_counter._PIECES  # the one thing that both have to share
    return tiktoken.Encoding(f"first {most}", pat_str=pieces, mergeable_ranks=read_ranks(most), special_tokens={})


FIRST, ALL = with_the_first(FIRST_TOKENS), with_the_first(None)


@given(st.text() | st.from_regex(r"[A-Za-z ,.\"{}:0-9-]{0,80}"))
def test_what_the_first_tokens_count_is_never_too_little(text: str) -> None:
    assert len(FIRST.encode_ordinary(text)) >= len(ALL.encode_ordinary(text))
