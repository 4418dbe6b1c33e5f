"""Check text that people and models wrote, shorten it, and compare it without regard to how it was typed."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator

from mcp_memory_server.domain.kernel.items import byte_length
from mcp_memory_server.errors import InvalidRequestError, TooLargeError

_FORBIDDEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_SPACES = re.compile(r"\s+")
_NOT_ON_A_LINE = re.compile(r"[\s\x00-\x1f\x7f-\x9f]+")
_JOINERS, _PRESENTATIONS = "\u200c\u200d", "\ufe0e\ufe0f"
# A flag of a region is a black flag with a few tags and an end.
_INVISIBLE = re.compile(
    "(?P<flag>\U0001f3f4[\U000e0061-\U000e007a\U000e0030-\U000e0039]{1,6}\U000e007f)"
    "|[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# Arabic, the scripts of India and its neighbours, emoji with their colours and presentations.
_JOINED = re.compile(
    "[\u0600-\u06ff\u0750-\u077f\u0900-\u0dff\u1000-\u109f\u1780-\u17ff\ufb50-\ufdff\ufe70-\ufefe"
    "\u2600-\u27bf\u2b00-\u2bff\ufe0f\U0001f000-\U0001faff]"
)
_FINAL_PUNCTUATION = " .!?。！？"  # noqa: RUF001 - also the full stops of other scripts
# Without letters that look alike, so that a person can read an id aloud; 60 bits, so that two ids never collide.
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_FINGERPRINT_LETTERS = 12


def checked_text(name: str, text: str, max_bytes: int) -> str:
    """Return the text without surrounding white space.

    Raises:
        InvalidRequestError: It is blank, or holds control characters or a lone surrogate.
        TooLargeError: It is over the limit.
    """
    length = byte_length(name, text)
    if length > max_bytes:
        raise TooLargeError(f"{name} must be at most {max_bytes:,} bytes long, got {length:,}. Say it in fewer words")
    if found := _FORBIDDEN.search(text):
        raise InvalidRequestError(f"{name} holds the control character U+{ord(found.group()):04X}; remove it")
    if not text.strip():
        raise InvalidRequestError(f"{name} must not be blank")
    return text.strip()


def one_line(text: str) -> str:
    """Return the text on a single line, so that it cannot pose as a heading or a list entry of its surroundings.

    Control characters become spaces too, because a terminal would obey them.
    """
    return without_invisible(_NOT_ON_A_LINE.sub(" ", text)).strip()


def without_invisible(text: str) -> str:
    """Return the text without characters that nobody sees and models read: zero-width ones, tags, changes of direction.

    Joiners between letters of scripts that need them stay, as do those of emoji, their colours, and their flags.
    """
    return text if text.isascii() or not _INVISIBLE.search(text) else _INVISIBLE.sub(_kept, text)


def _kept(found: re.Match[str]) -> str:
    sign, text = found.group(), found.string
    before, after = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
    if len(sign) == 1 and sign in _JOINERS:
        return sign if _JOINED.match(before) and _JOINED.match(after) else ""
    if len(sign) == 1 and sign in _PRESENTATIONS:
        return sign if before and (unicodedata.category(before) == "So" or before in "#*0123456789") else ""
    if found.lastgroup == "flag":
        return sign
    return ""


def shortened(text: str, most: int) -> str:
    """Return the text cut to this many characters, with an ellipsis if it was cut."""
    return text if len(text) <= most else text[: max(most - 1, 0)].rstrip() + "…"


def shortened_at_a_word(text: str, most: int) -> str:
    """Return the text cut like `shortened`, but not within a word or a date, unless that would remove much more."""
    if len(text) <= most:
        return text
    start, space, _ = text[:most].rpartition(" ")
    return shortened(text, most) if not space or len(start) < most * 3 // 4 else start.rstrip(" ,;:") + "…"


def ever_shorter(text: str) -> Iterator[str]:
    """Yield the text, then versions cut to two thirds again and again, until next to nothing is left."""
    yield text
    length = len(text)
    while (length := length * 2 // 3) > 1:
        yield shortened(text, length)


def compact_json(value: object) -> str:
    """Return plain data as JSON without spaces, in letters that every store takes.

    Raises:
        TypeError, ValueError, RecursionError: The value is not plain data.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


def fingerprint(text: str) -> str:
    """Return the same short id for texts that differ only in case, spacing, Unicode form or final punctuation."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    plain = _SPACES.sub(" ", folded).strip(_FINAL_PUNCTUATION)
    return short_id(hashlib.sha256(plain.encode()).digest())


def short_id(digest: bytes) -> str:
    """Return a digest as a short id that a person can read aloud."""
    number = int.from_bytes(digest)
    return "".join([_LETTERS[number >> 5 * place & 31] for place in range(_FINGERPRINT_LETTERS)])
