"""No secret is logged, whatever its name, place and form."""

import base64
import json
import math
import string
import time
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.redaction import (
    DEEPEST,
    LEFT_OUT,
    LONGEST_TEXT,
    MOST_CHARACTERS,
    REDACTED,
    redacted,
    redacted_text,
)

LETTERS = string.ascii_letters + string.digits
PEM = "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----"

SECRET_NAMES = [
    "password", "Password", "user_password", "passwd", "token", "accessToken", "access_token", "X-Auth-Token",
    "secret", "clientSecret", "client-secret", "api_key", "apiKey", "API-KEY", "x_api_key", "Authorization", "Cookie",
    "set-cookie", "credentials", "aws_secret_access_key", "AWS_ACCESS_KEY_ID", "private_key", "pwd", "pin", "auth",
    "bearer", "Passwort", "contraseña", "パスワード", "密码", "\uff50\uff41\uff53\uff53\uff57\uff4f\uff52\uff44",
    "connectionString",
]  # fmt: skip

unguessable = st.text(LETTERS, min_size=36, max_size=60).map(lambda text: "aB3" + text)
jwts = st.builds(
    lambda one, two: f"eyJ{one}.eyJ{two}.{one[::-1]}", st.text(LETTERS, min_size=20), st.text(LETTERS, min_size=20)
)
known_shapes = (
    unguessable
    | jwts
    | st.text(LETTERS, min_size=20, max_size=40).map("sk-".__add__)
    | st.text(LETTERS, min_size=20, max_size=40).map("ghp_".__add__)
    | st.text(string.ascii_uppercase + string.digits, min_size=16, max_size=16).map("AKIA".__add__)
    | st.binary(min_size=300, max_size=300).map(lambda raw: PEM.format(base64.b64encode(raw).decode()))
    | st.text(LETTERS, min_size=12, max_size=40).map("Bearer ".__add__)
)
around = st.text(" .,:;!?\n\"'()[]{}<>\t", min_size=1, max_size=3)
words = st.lists(st.sampled_from(["hotel", "in", "Bern", "東京", "🦊", "see", "x=1", "{}", "-"]), max_size=200).map(
    " ".join
)
plain_names = st.sampled_from(["query", "body", "headers", "limit", "key", "0", "日付"])
leaves = st.none() | st.booleans() | st.integers() | st.floats() | words
plain = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(plain_names, inner, max_size=3), max_leaves=8
)


def buried(value: Any, path: list[str]) -> Any:
    """Return the value below this path of names; a dot stands for a list."""
    for name in reversed(path):
        value = ["before", value] if name == "." else {"before": 1, name: value}
    return value


@settings(max_examples=400)
@given(
    secret=known_shapes, before=words, left=around, right=around, path=st.lists(plain_names | st.just("."), max_size=6)
)
def test_what_looks_like_a_secret_is_never_kept(
    secret: str, before: str, left: str, right: str, path: list[str]
) -> None:
    text = before + left + secret + right + before

    kept = json.dumps(redacted({"inputs": buried(text, path)})) + redacted_text(text)

    assert not leaked(secret, kept)


@settings(max_examples=400)
@given(
    secret=st.text(LETTERS + "!$+-_", min_size=8, max_size=30),
    name=st.sampled_from(SECRET_NAMES),
    path=st.lists(plain_names | st.just("."), max_size=6),
    beside=plain,
)
def test_what_stands_under_the_name_of_a_secret_is_never_kept(
    secret: str, name: str, path: list[str], beside: Any
) -> None:
    inputs = {"beside": beside, "deep": buried({name: ["x", {"of": secret}]}, path), name: secret}

    assert not leaked(secret, json.dumps(redacted(inputs), ensure_ascii=False))


@settings(max_examples=400)
@given(
    secret=st.text(LETTERS, min_size=10, max_size=30),
    name=st.sampled_from(["password", "API_KEY", "client_secret", "accessToken", "Authorization", "Cookie"]),
    form=st.sampled_from(
        ["{}={}", "{}: {}", '"{}": "{}"', "'{}': '{}'", '\\"{}\\": \\"{}\\"', "?a=1&{}={}&b=2", "--{}={}", "{} is {}"]
    ),
    before=words,
)
def test_a_secret_that_is_named_in_a_text_is_never_kept(secret: str, name: str, form: str, before: str) -> None:
    if name in {"Authorization", "Cookie"}:
        form = "{}: {}"
    text = f"{before} {form.format(name, secret)} {before}"

    assert not leaked(secret, redacted_text(text) + json.dumps(redacted({"command": text})))


def leaked(secret: str, kept: str) -> bool:
    """Tell whether a telling piece of the secret is there."""
    plain_secret = secret.replace("\n", "\\n")
    return any(
        plain_secret[start : start + 8] in kept for start in range(11 if "-----" in secret else 0, len(secret) - 8, 4)
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "https://bob:s3cret@example.com/x?token=abcd&user=1",
            "https://[redacted]@example.com/x?token=[redacted]&user=1",
        ),
        ('{"password": "a b\\"c", "user": "bob"}', '{"password": [redacted]", "user": "bob"}'),
        ("Authorization: Digest a, b\nAccept: x", "Authorization: [redacted]\nAccept: x"),
        ("my password is swordfish", "my password is [redacted]"),
        ("-----BEGIN PRIVATE KEY-----\nMIIE", REDACTED),
    ],
)
def test_what_is_around_a_secret_stays(text: str, kept: str) -> None:
    assert redacted_text(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "hotels in Bern for 2 people", "123e4567-e89b-12d3-a456-426614174000", "01JNB3X8M0ABCDEFGHJKMNPQRS",
        "/Users/anna/Projects/memory/src/Components/Table", "https://example.com/a/b?page=2#top", "opinion: good",
        "d41d8cd98f00b204e9800998ecf8427e", "max_tokens=512", "東京のホテル", "2026-03-01T12:00:00.000000Z",
    ],
)  # fmt: skip
def test_what_is_no_secret_is_kept(text: str) -> None:
    assert redacted_text(text) == text
    assert redacted({"query": text, "max_tokens": 512, "token_count": 3}) == {
        "query": text,
        "max_tokens": 512,
        "token_count": 3,
    }


def test_long_texts_are_shortened_and_too_much_is_left_out() -> None:
    kept = redacted({"text": "x" * 10_000, "many": ["y" * 400] * 1000, "late": "z"})

    assert kept["text"] == "x" * LONGEST_TEXT + "…"
    assert isinstance(kept["many"], list)
    assert kept["many"][-1] == LEFT_OUT
    assert len(json.dumps(kept)) < MOST_CHARACTERS * 1.5


def test_a_secret_on_the_edge_of_what_is_kept_is_still_recognised() -> None:
    secret = "sk-" + "aB3dE5" * 10

    assert [
        redacted_text("." * place + " " + secret)
        for place in range(440, 520)
        if "aB3" in redacted_text("." * place + " " + secret)
    ] == []


def test_what_is_no_plain_data_is_named_by_its_kind_only() -> None:
    class Vault:
        def __repr__(self) -> str:
            return "hunter2"

    kept = redacted(
        {"a": Vault(), "b": b"raw", "c": {1: (2, PurePath("x"))}, "d": math.nan, "e": 10**60, "f": "\ud800"}
    )

    name = type(PurePath("x")).__name__
    assert kept == {
        "a": "[Vault]",
        "b": "[bytes]",
        "c": {"1": [2, f"[{name}]"]},
        "d": LEFT_OUT,
        "e": LEFT_OUT,
        "f": "?",
    }


def test_data_that_holds_itself_ends() -> None:
    endless: dict[str, Any] = {"when": datetime(2026, 3, 1, tzinfo=UTC)}
    endless["again"] = endless

    assert json.dumps(redacted(endless)).count("again") == DEEPEST + 1


def test_no_text_takes_long() -> None:
    pieces = [
        "token",
        "passw",
        "-----BEGIN ",
        "eyJ",
        "a.-",
        "://a",
        "Bearer ",
        "\\",
        'password:"\\',
        "aA1+/",
        "secret ",
        "cookie ",
    ]
    texts = [piece * 2000 for piece in pieces]

    started = time.perf_counter()
    for text in texts:
        redacted_text(text)

    assert (time.perf_counter() - started) / len(texts) < 0.02


@pytest.mark.parametrize("place", range(985, 1000, 3))
def test_half_of_a_later_secret_does_not_move_up_behind_an_earlier_one(place: int) -> None:
    text = "sk-" + "x" * 600 + " " * 400
    text = text[:place] + "AKIAQWERTYUIOPASDFGH"

    assert redacted_text(text) == REDACTED
