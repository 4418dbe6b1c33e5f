"""Exact token counts without a network: the ranks are a file of this package, loaded when first needed."""

import base64
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tiktoken import Encoding

RANKS = Path(__file__).with_name("cl100k_base.tiktoken")

# Published with tiktoken; it cuts a text into the pieces within which tokens are merged.
_PIECES = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
    r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
)


def count_tokens(text: str) -> int:
    """Return the number of cl100k_base tokens. The first call loads the ranks: about a tenth of a second."""
    return len(_encoding().encode_ordinary(text))


@cache
def _encoding() -> "Encoding":
    # Imported here: a server that counts nothing should not pay for it.
    from tiktoken import Encoding

    lines = (line.split() for line in RANKS.read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    return Encoding("cl100k_base", pat_str=_PIECES, mergeable_ranks=ranks, special_tokens={})
