"""Find credentials in text that people and models write, by their shape or by what they are called.

A false alarm here costs a memory, so what only might be a secret is let through. The tool log, where a false alarm
costs nothing, removes more (see `domain.kernel.redaction`).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from mcp_memory_server.domain.kernel.named_passwords import named_secrets
from mcp_memory_server.errors import InvalidRequestError

REDACTED = "[redacted]"

_BEFORE, _AFTER = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_-])"


@dataclass(frozen=True)
class Credential:
    """The place of a credential in a text, and its kind without an article."""

    kind: str
    start: int
    end: int


@dataclass(frozen=True)
class _Shape:
    """The pattern of one kind. A text without any of the hints cannot match."""

    kind: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _shape(kind: str, hints: Sequence[str], pattern: str) -> _Shape:
    return _Shape(kind, tuple(hints), re.compile(pattern, re.DOTALL))


def _token(kind: str, hints: Sequence[str], pattern: str) -> _Shape:
    return _shape(kind, hints, f"{_BEFORE}(?:{pattern})")


_SHAPES = (
    _shape(
        "private key",
        ["PRIVATE KEY"],
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?(?:-----END [A-Z0-9 ]{1,60}-----|\Z)",
    ),
    _token("AWS access key", ["AKIA", "ASIA"], rf"(?:AKIA|ASIA)[A-Z0-9]{{16}}{_AFTER}"),
    _token("GitHub token", ["gh", "github_pat_"], r"(?:gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_\w{20,})"),
    _token("GitLab token", ["glpat-"], r"glpat-[\w-]{16,}"),
    _token("Slack token", ["xox", "xapp-"], r"(?:xox[a-z]|xapp)-(?=[\w-]{0,40}\d)[\w-]{12,}"),
    _shape("Slack webhook", ["hooks.slack.com"], r"(?<=hooks\.slack\.com/services/)[\w/]{20,}"),
    _token("Stripe key", ["_live_", "_test_", "whsec_"], r"(?:(?:sk|rk|pk)_(?:live|test)_|whsec_)\w{12,}"),
    _token("Anthropic key", ["sk-ant-"], r"sk-ant-[\w-]{16,}"),
    _token("OpenAI key", ["sk-"], r"sk-(?!ant-)(?=[\w-]{0,60}\d)(?:[a-z]{1,10}-)?[A-Za-z0-9_-]{20,}"),
    _token("Google key", ["AIza", "ya29.", "GOCSPX-"], r"(?:AIza[\w-]{30,}|ya29\.[\w.-]{20,}|GOCSPX-[\w-]{20,})"),
    _token(
        "access token",
        ["hf_", "npm_", "pypi-", "SG.", "dop_v1_", "shp", "dapi", "hvs.", "lin_api_", "ntn_", "sq0"],
        r"(?:hf_\w{24,}|npm_\w{30,}|pypi-[\w-]{40,}|SG\.[\w-]{16,}\.[\w-]{16,}|dop_v1_\w{32,}|shp(?:at|ca|pa|ss)_\w{24,}"
        r"|dapi[0-9a-f]{32}|hvs\.[\w-]{20,}|lin_api_\w{24,}|ntn_\w{30,}|sq0(?:atp|csp)-[\w-]{20,})",
    ),
    _token(
        "access token",
        ["glsa_", "xkeysib-", "EAAC", "nvapi-", "pplx-", "figd_", "dckr_", "PMAK-", "gsk_", "xai-", "r8_", "sntrys_"],
        r"(?:(?:glsa|figd|dckr_pat|gsk|r8|sntrys)_(?=\w{0,60}\d)[\w-]{16,}|(?:xkeysib|nvapi|pplx|xai|PMAK)-(?=[\w-]{0,60}\d)"
        r"[\w-]{20,}|EAAC(?=[A-Za-z]{0,60}\d)[A-Za-z0-9]{24,})",
    ),
    _token("age key", ["AGE-SECRET-KEY-"], r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    _token("Telegram token", [":AA"], rf"\d{{8,10}}:AA[\w-]{{30,}}{_AFTER}"),
    _shape(
        "webhook",
        ["/api/webhooks/", "/webhook/"],
        r"(?<=/api/webhooks/)\d{6,}/[\w-]{20,}|(?<=/webhook/)[\w@-]{20,}/[\w/-]{20,}",
    ),
    _shape(
        "login",
        ["curl ", "wget ", "http "],
        r"(?<=curl )[^\n|;]{0,200}?(?<= )(?:-u|--user)[ =]?['\"]?(?!\$)[^\s'\":$<]{1,100}:(?![$<{*])[^\s'\"]{3,100}",
    ),
    _shape(
        "password",
        ["sshpass -p", "redis-cli ", "mysql"],
        r"(?:sshpass -p ?|redis-cli [^\n|;]{0,80}?-a "
        r"|mysql(?:dump)? [^\n|;]{0,80}?-p|mysql -p)['\"]?"
        r"(?![$<{*])(?=[^\s'\"]{0,60}\d)[^\s'\"-][^\s'\"]{5,100}",
    ),
    _token("JSON web token", ["eyJ"], r"eyJ[\w-]{8,}+\.[\w-]{8,}+(?:\.[\w-]*+)?"),
    _shape("password in an address", ["://"], r"(?<=://)[^\s/@:]{0,100}:(?![$<{*])[^\s/@]{1,200}(?=@)"),
    _shape("bearer token", ["earer"], r"(?<=[Bb]earer )(?=[\w.~+/=-]{0,40}\d)[\w.~+/=-]{16,}"),
    _shape("login", ["asic "], r"(?i:(?<=authorization: basic ))[A-Za-z0-9+/=]{8,}"),
)
# The length of an AWS secret key, with a mixture of characters that no word and no path has.
_SECRET_KEY = re.compile(
    r"(?<![A-Za-z0-9/+_.-])(?=[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+=_-]))"
    r"(?=[A-Za-z/+]{0,39}\d)(?=[a-z0-9/+]{0,39}[A-Z])(?=[A-Z0-9/+]{0,39}[a-z])[A-Za-z0-9/+]{40}"
)
_LONG_WORD = re.compile(r"[a-z]{12}")
_CARD = re.compile(
    r"(?<![A-Za-z0-9_.+-])(?<![A-Z]{2}\d\d )(?<!\d[ ])(?:"
    r"(?:4\d|5[1-5]|2[2-7]|6[0245]|35)\d{2}(?P<gap>[ -]?)\d{4}(?P=gap)\d{4}(?P=gap)\d{4}"
    r"|3[47]\d{2}(?P<space>[ -]?)\d{6}(?P=space)\d{5}"
    r")(?![ -]?\d{3}|[A-Za-z0-9_])"
)


def find_credentials(text: str) -> list[Credential]:
    """Return the credentials in a text in order, merged where they overlap."""
    found = sorted(_all_in(text), key=lambda one: (one.start, -one.end))
    apart: list[Credential] = []
    for one in found:
        if not apart or one.start >= apart[-1].end:
            apart.append(one)
        elif one.end > apart[-1].end:
            apart[-1] = Credential(apart[-1].kind, apart[-1].start, one.end)
    return apart


def without_credentials(text: str) -> tuple[str, int]:
    """Return the text with every credential replaced, and the number of replacements."""
    found = find_credentials(text)
    if not found:
        return text, 0
    starts, ends = [0, *(one.end for one in found)], [*(one.start for one in found), len(text)]
    return REDACTED.join(text[start:end] for start, end in zip(starts, ends, strict=True)), len(found)


def data_without_credentials(data: Any) -> tuple[Any, int]:
    """Return plain data with the credentials in its texts replaced, and the number of replacements.

    A text is checked together with the key that it is stored under: ``{"password": "…"}``.
    """
    match data:
        case str():
            return without_credentials(data)
        case Mapping():
            entries = {name: _entry(name, value) for name, value in cast("Mapping[Any, Any]", data).items()}
            return {name: value for name, (value, _) in entries.items()}, sum(count for _, count in entries.values())
        case list() | tuple():
            values = [data_without_credentials(value) for value in cast("Sequence[Any]", data)]
            return [value for value, _ in values], sum(count for _, count in values)
        case _:
            return data, 0


def refuse_credentials(what: str, text: str, *, name: str | None = None) -> None:
    """Refuse a text that holds a credential; ``name`` is its key or topic, such as "wifi_password".

    Raises:
        InvalidRequestError: It holds one. The message says of which kind, and never quotes it.
    """
    found = find_credentials(text) or (find_credentials(f"{name}: {text}") if name else [])
    if found:
        kind = found[0].kind
        article = "an" if kind.startswith(("A", "O", "a")) else "a"
        raise InvalidRequestError(
            f"the {what} holds what looks like {article} {kind}, so it was not saved: credentials are not kept "
            "in memory. Save where it is kept, not the secret itself"
        )


def _entry(name: Any, value: Any) -> tuple[Any, int]:
    if not isinstance(value, str):
        return data_without_credentials(value)
    prefix = f"{name}: "
    named = [one for one in find_credentials(prefix + value) if one.start >= len(prefix)]
    if any(one.start == len(prefix) for one in named):
        return REDACTED, 1
    return without_credentials(value)


def _all_in(text: str) -> Iterator[Credential]:
    for shape in _SHAPES:
        if any(map(text.__contains__, shape.hints)):
            yield from (Credential(shape.kind, *found.span()) for found in shape.pattern.finditer(text))
    for found in _SECRET_KEY.finditer(text):
        if not _LONG_WORD.search(found.group()) and not _is_in_address(text, found.start()):
            yield Credential("AWS secret key", *found.span())
    for found in _CARD.finditer(text):
        if _keeps_luhn(found.group()):
            yield Credential("card number", *found.span())
    yield from (Credential(*named) for named in named_secrets(text))


def _is_in_address(text: str, place: int) -> bool:
    """Check whether the place is inside a web address, where random characters are the id of a page."""
    before = text[max(0, place - 300) : place]
    return "://" in before[max(before.rfind(" "), before.rfind("\n")) + 1 :]


def _keeps_luhn(number: str) -> bool:
    """Check the check digit of a card number."""
    digits = [int(digit) for digit in reversed(number) if digit.isdigit()]
    doubled = [digit if place % 2 == 0 else 2 * digit - 9 * (digit > 4) for place, digit in enumerate(digits)]
    return sum(doubled) % 10 == 0
