"""Token counts without a network: the tokens are a file of this package, loaded when first needed."""

import threading
from functools import cache, lru_cache
from itertools import accumulate, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

FIRST_TOKENS = 32_000
"""How many tokens are loaded at the start. The others are loaded after the first replies."""

TIMEOUT_SECONDS = 0.5

SHORT = 400
"""Counts of texts up to this length are cached."""

TOKENS = Path(__file__).with_name("cl100k_base.tokens")

# Published with tiktoken: splits a text into the pieces within which tokens are merged.
_PIECES = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)


def count_tokens(text: str) -> int:
    """Return the number of cl100k_base tokens; until all tokens are loaded an upper bound, about a tenth higher.

    Merging stops early where later tokens are missing, and each merge saves one token, so that a count with the first
    tokens alone is never too low.
    """
    encoding = _loaded.get("exact") or _first_encoding()
    return _count_short(encoding, text) if len(text) <= SHORT else len(encoding.encode_ordinary(text))


def load_exact() -> None:
    """Load all tokens, which takes about 50 ms. From then on counts are exact."""
    _loaded["exact"] = _encoding(None)


def read_ranks(most: int | None = None) -> dict[bytes, int]:
    """Return the rank of each token. The file has their number, then their lengths, then the tokens by rank.

    This form takes a third of the time to read of the published one, which is Base64 text.
    """
    data = TOKENS.read_bytes()
    first = 4 + int.from_bytes(data[:4])
    bounds = pairwise(accumulate(data[4:first], initial=first))
    return {data[start:end]: rank for rank, (start, end) in enumerate(islice(bounds, most))}


_loaded: "dict[str, Encoding]" = {}


@lru_cache(maxsize=16_384)
def _count_short(encoding: "Encoding", text: str) -> int:
    # The same lines are counted for every page and reply that contains them.
    return len(encoding.encode_ordinary(text))


@cache
def _first_encoding() -> "Encoding":
    others = threading.Timer(TIMEOUT_SECONDS, load_exact)
    others.daemon = True
    others.start()
    return _encoding(FIRST_TOKENS)


def _encoding(most: int | None) -> "Encoding":
    # Imported here: the import is slow, and a server that counts nothing does not need it.
    from tiktoken import Encoding

    return Encoding(f"cl100k_base {most}", pat_str=_PIECES, mergeable_ranks=read_ranks(most), special_tokens={})
