"""The built-in model is the published one: its file, its way of cutting words, and where it places texts."""

import hashlib
import sys
import unicodedata
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model2vec import StaticModel
from tokenizers import Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

from mcp_memory_server.adapters.built_in.embedder import DIMENSIONS, BuiltInEmbedder
from mcp_memory_server.adapters.built_in.static_model import MAX_CHARACTERS, MAX_TOKENS, POTION, load_potion
from mcp_memory_server.adapters.built_in.word_pieces import UNKNOWN, WordPieces
from mcp_memory_server.domain.kernel.vectors import as_vector, closeness
from tests.engines.potion import PUBLISHED, made_from

pytestmark = pytest.mark.anyio

SHA256 = "39b619a925818de22acab2d83a4514df436f504f44b9f1093e3d0abc50e67b85"

KNOWN = {
    "I moved to Berlin last year": [90, 7, 127, 29, 32, 92, 69, -27, 114, 9, -49, -54],
    "she adopted a golden retriever": [-7, -64, -18, 45, 38, 127, -86, 75, 22, -28, -13, 56],
    "我每天早上遛狗": [-121, -57, -48, 2, 25, 127, 54, 34, 31, -50, -10, -42],
    "Crème brûlée": [10, -91, -91, -17, -72, 22, 127, 73, -13, 17, 98, -37],
}
"""The beginnings of vectors that are stored somewhere by now. Other ones need another name of the model."""

SENTENCES = [
    "I moved to Berlin last year",
    "she adopted a golden retriever",
    "What's my wife's birthday?",
    "Überraschung! Crème brûlée & naïve café, ½ price (€3.50)…",
    "我每天早上遛狗。犬の散歩が好きです。 개와 산책",
    "Привет, МИР! ΑΣ ΟΔΥΣΣΕΥΣ İstanbul ǅ ß ẞ ﬁ",
    "e-mail: ana@example.com, https://example.com/a_b?c=d#e",
    "great😂 work 👨‍👩‍👧 antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "x" * 100 + " " + "x" * 101,
    "a\x00b\x07c\td\u200be\ufffdf\u00adg\u2028h",
]


@cache
def vocabulary() -> dict[str, int]:
    data = POTION.read_bytes()
    pieces = data[4 : 4 + int.from_bytes(data[:4])].decode().split("\n")
    return {piece: number for number, piece in enumerate(pieces)}


@cache
def ours() -> WordPieces:
    return WordPieces(vocabulary())


@cache
def theirs() -> Tokenizer:
    """The published tokenizer, without the names of its special tokens, which nobody writes to be understood."""
    made = Tokenizer(WordPiece(vocabulary(), unk_token=UNKNOWN, max_input_chars_per_word=100))
    made.normalizer = BertNormalizer()  # pyright: ignore[reportAttributeAccessIssue]
    made.pre_tokenizer = BertPreTokenizer()  # pyright: ignore[reportAttributeAccessIssue]
    return made


def has_kept_its_kind(character: str) -> bool:
    """Tell whether Unicode 3.2 knew it as what it is today. Later ones the published tokenizer may know as others."""
    return unicodedata.ucd_3_2_0.category(character) == unicodedata.category(character)


CHARACTERS = [
    character
    for character in map(chr, range(sys.maxunicode + 1))
    if has_kept_its_kind(character) and unicodedata.category(character) != "Cs"
]
LATIN = st.characters(min_codepoint=0x20, max_codepoint=0x24F)


def both(texts: Sequence[str]) -> tuple[list[list[int]], list[list[int]]]:
    published = theirs().encode_batch_fast(list(texts), add_special_tokens=False)
    return [ours().ids(text) for text in texts], [encoding.ids for encoding in published]


def test_the_file_is_the_one_that_was_made() -> None:
    assert hashlib.sha256(POTION.read_bytes()).hexdigest() == SHA256


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published model potion-base-8M is not beside the repository")
def test_making_the_file_again_from_the_published_model_gives_the_same() -> None:
    assert hashlib.sha256(made_from(PUBLISHED)).hexdigest() == SHA256


@pytest.mark.parametrize("text", SENTENCES)
def test_words_are_cut_as_the_published_tokenizer_cuts_them(text: str) -> None:
    mine, published = both([text])

    assert mine == published


@given(st.lists(st.text(st.sampled_from(CHARACTERS) | LATIN)))
def test_any_text_is_cut_as_the_published_tokenizer_cuts_it(texts: list[str]) -> None:
    mine, published = both(texts)

    assert mine == published


def test_every_character_is_taken_as_the_published_tokenizer_takes_it() -> None:
    # All but the private ones, which are many and alike.
    texts = [f"x{one}good {one}" for one in CHARACTERS if unicodedata.category(one) not in ("Co", "Cn")]

    mine, published = both(texts)

    assert [text for text, a, b in zip(texts, mine, published, strict=True) if a != b] == []


@pytest.mark.skipif(not PUBLISHED.is_dir(), reason="the published model potion-base-8M is not beside the repository")
def test_texts_lie_where_the_published_model_places_them() -> None:
    texts = [*SENTENCES, "dog " * 5_000]
    published = StaticModel.from_pretrained(PUBLISHED).encode(texts)
    mine = [load_potion().vector(text) for text in texts]

    cosines = [closeness(as_vector(numbers.tolist()), vector) for numbers, vector in zip(published, mine, strict=True)]

    assert min(cosines) > 0.999


@pytest.mark.parametrize("text", KNOWN)
async def test_known_texts_have_their_known_vectors(text: str) -> None:
    (vector,) = await BuiltInEmbedder().embed([text])

    assert list(memoryview(vector).cast("b"))[:12] == KNOWN[text]


async def test_only_the_beginning_of_a_long_text_counts() -> None:
    short, long, longest = await BuiltInEmbedder().embed(
        ["dog " * MAX_TOKENS, "dog " * MAX_TOKENS + "piano", " " * MAX_CHARACTERS + "piano"]
    )

    assert short == long
    assert longest == bytes(DIMENSIONS)


async def test_the_vector_of_a_text_is_the_average_of_those_of_its_tokens() -> None:
    embedder = BuiltInEmbedder()
    rows = embedder.token_vectors("Ana's dog: an Entlebucher!")

    (vector,) = await embedder.embed(["Ana's dog: an Entlebucher!"])

    assert rows.shape == (len(embedder.token_ids("Ana's dog: an Entlebucher!")), DIMENSIONS)
    assert closeness(vector, as_vector(rows.mean(axis=0).tolist())) > 0.9999


def test_a_text_without_known_words_has_no_tokens() -> None:
    embedder = BuiltInEmbedder()

    assert list(embedder.token_ids("😂 \u200b")) == []
    assert embedder.token_vectors("😂").shape == (0, DIMENSIONS)


def test_token_numbers_fit_into_two_bytes() -> None:
    assert len(vocabulary()) <= 2**16


def test_common_words_weigh_less_than_rare_ones() -> None:
    the, retriever = (np.linalg.norm(BuiltInEmbedder().token_vectors(word)[0]) for word in ("the", "retriever"))

    assert the < retriever
