"""Redact and shorten what a tool was given and what it returned, for the tool log.

A value whose key promises a secret is removed, whatever it is, and so is every key, token or password anywhere in a
text. When in doubt it is removed: this finds everything that `domain.kernel.credentials` finds, and more.
"""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

from mcp_memory_server.domain.kernel.credentials import REDACTED, find_credentials

Plain: TypeAlias = "str | int | float | bool | list[Plain] | dict[str, Plain] | None"

LEFT_OUT = "[left out]"
LONGEST_TEXT = 500
LONGEST_NAME = 100
MOST_CHARACTERS = 8_000
"""The limit for all of the inputs of one call."""
DEEPEST = 8

_BEYOND = 500  # so many characters after the limit are searched too: a secret that is cut must still be recognised
_LARGEST_NUMBER = 10**30

_SECRET_WORDS = re.compile(
    "passw|passphrase|passcode|pwd|secret|token|apikey|accesskey|privatekey|signingkey|encryptionkey|authorization|cookie"
    "|credential|bearer|jwt|connectionstring|kennwort|geheim|contraseña|contrasena|motdepasse|senha|wachtwoord|パスワード|暗証番号|密码|密碼|口令"
)
_SECRET_NAMES = frozenset({"auth", "pass", "pw", "pin", "otp", "cvv", "cvc", "clave"})
# A number of tokens, not a token.
_COUNT = re.compile("tokens$|^tokens?(?:count|limit|budget|used)")
_BETWEEN_WORDS = re.compile(r"[\W_]+")

_NAME = (
    r"(?i:passw\w{0,9}|passphrase|pwd|secret|token(?!s)|api[_-]?key|access[_-]?key|private[_-]?key|credential|contraseña)"
    r"""[\w.-]{0,60}\\*["']?\s{0,9}(?::|=>?|\bis\b)\s{0,9}"""
)
_VALUE = (
    r"""\\+["'](?:[^"'\\]|\\(?!["']))*"""  # quoted in a text that was itself quoted
    r"""|"(?:[^"\\]|\\.)*|'(?:[^'\\]|\\.)*"""
    r"""|[^\s"'\\,;&}\])][^\r\n"',;&}\])]*"""
)
# Long, with a mixture of capitals, lower case and digits that no word has.
_MIXED = (
    r"(?<![\w+/-])(?=[\w+/-]{22})(?=[\w+/-]*[a-z])(?=[\w+/-]*[A-Z])(?=[\w+/-]*\d)"
    r"(?:[A-Za-z0-9_-]{32,}|[A-Za-z0-9+/]{40}(?![\w+/-])|[A-Za-z0-9+/]{22,}={1,2})"
)
_SHAPES = (
    r"-----BEGIN [A-Z0-9 ]{1,60}-----.*?(?:-----END [A-Z0-9 ]{1,60}-----|\Z)",
    r"\beyJ[\w-]{6,}(?:\.[\w-]*){0,2}",
    r"(?<=://)[^\s/@]{1,200}(?=@)",
    r"\b(?:sk|pk|rk|gh[oprsu]|github_pat|glpat|xox[a-z]|hf|npm|pypi|shp[a-z]{2}|dop_v1|ya29|SG)[_.-][\w.-]{8,}",
    r"\b(?:AIza[\w-]{10,}|(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{8,})",
    _MIXED,
)
_WORDED = (
    r"""((?i:authorization|cookie)["']?\s{0,9}[:=]\s{0,9})[^\r\n]+""",
    rf"({_NAME})(?:{_VALUE})",
    r"\b(?i:bearer|basic|digest|negotiate)\s{1,9}[\w.~+/=:-]{6,}",
)
# Case-insensitive patterns are slow. Most texts have none of these words and are searched for the shapes only.
_HINTS = (
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "cred",
    "contrase",
    "auth",
    "cookie",
    "bear",
    "basic",
    "digest",
    "nego",
)
_SECRET_SHAPE = re.compile("|".join(_SHAPES), re.DOTALL)
_SECRET = re.compile("|".join((*_WORDED, *_SHAPES)), re.DOTALL)


def redacted(inputs: Mapping[str, Any]) -> dict[str, Plain]:
    """Return the inputs as plain data without secrets: long texts and long inputs are cut."""
    return _Budget(MOST_CHARACTERS).mapping(inputs, depth=0)


def redacted_text(text: str, most: int = LONGEST_TEXT) -> str:
    """Return the first characters of the text without secrets."""
    window, kept, place = text[: most + _BEYOND], "", 0
    for start, end in _secrets(window):
        if start >= most:
            break
        if start >= place:
            kept += window[place:start] + REDACTED
        place = max(place, end)
    # Not beyond the limit: what follows may be half of a secret.
    kept += window[place:most]
    return kept[:most].encode(errors="replace").decode()


def _secrets(text: str) -> list[tuple[int, int]]:
    """Return where secrets begin and end, in order. The name of a secret is not part of it."""
    lower = text.lower()
    pattern = _SECRET if any(hint in lower for hint in _HINTS) else _SECRET_SHAPE
    by_pattern = [
        (found.start() + len(next(filter(None, found.groups()), "")), found.end()) for found in pattern.finditer(text)
    ]
    return sorted([*by_pattern, *((one.start, one.end) for one in find_credentials(text))])


def is_secret_name(name: str) -> bool:
    """Check whether a name promises a secret, in any notation: ``apiKey``, ``API-KEY``, ``x_api_key``."""
    plain = _BETWEEN_WORDS.sub("", unicodedata.normalize("NFKC", name).casefold())
    return plain in _SECRET_NAMES or _SECRET_WORDS.search(plain) is not None


class _Budget:
    """The number of characters that may still be kept, counted down while the inputs are walked through."""

    def __init__(self, characters: int) -> None:
        self._left = characters

    def mapping(self, entries: Mapping[Any, Any], *, depth: int) -> dict[str, Plain]:
        kept: dict[str, Plain] = {}
        for name, value in entries.items():
            if self._left <= 0:
                kept["…"] = LEFT_OUT
                break
            name = str(name)
            shown = self.text(name, LONGEST_NAME)
            kept[shown] = REDACTED if _holds_secret(name, value) else self.value(value, depth=depth + 1)
        return kept

    def sequence(self, entries: Sequence[Any], *, depth: int) -> list[Plain]:
        kept: list[Plain] = []
        for value in entries:
            if self._left <= 0:
                kept.append(LEFT_OUT)
                break
            kept.append(self.value(value, depth=depth + 1))
        return kept

    def value(self, value: Any, *, depth: int) -> Plain:
        self._left -= 1
        match value:
            case None | bool():
                return value
            case int() | float():
                return _number(value)
            case str():
                return self.text(value, LONGEST_TEXT)
            case Mapping() | list() | tuple() if depth > DEEPEST:
                return LEFT_OUT
            case Mapping():
                return self.mapping(cast("Mapping[Any, Any]", value), depth=depth)
            case list() | tuple():
                return self.sequence(cast("Sequence[Any]", value), depth=depth)
            case _:
                return f"[{type(value).__name__}]"  # its repr may hold anything

    def text(self, text: str, most: int) -> str:
        most = max(min(most, self._left), 0)
        kept = redacted_text(text, most)
        self._left -= len(kept)
        return kept if len(text) <= most else kept + "…"


def _holds_secret(name: str, value: object) -> bool:
    if not is_secret_name(name):
        return False
    counts = isinstance(value, int | float) and _COUNT.search(_BETWEEN_WORDS.sub("", name.casefold()))
    return not counts


def _number(value: float) -> Plain:
    return value if math.isfinite(value) and abs(value) <= _LARGEST_NUMBER else LEFT_OUT
