"""Credentials are found, and sentences that only speak of them are left alone."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mcp_memory_server.domain.kernel.credentials import (
    REDACTED,
    data_without_credentials,
    find_credentials,
    refuse_credentials,
    without_credentials,
)
from mcp_memory_server.errors import InvalidRequestError
from tests.domain.kernel.credentials.planted import Planted, planted

HONEST = Path(__file__).with_name("honest.txt").read_text(encoding="utf-8").splitlines()
PLANTED = list(planted())


def leaks(one: Planted) -> bool:
    """Return whether a telling piece of the secret is still there."""
    kept, _ = without_credentials(one.text)
    size = min(len(one.secret), 8)
    return any(one.secret[start : start + size] in kept for start in range(len(one.secret) - size + 1))


def test_at_least_95_of_100_planted_credentials_are_found() -> None:
    missed = [one for one in PLANTED if leaks(one) or not find_credentials(one.text)]

    assert len(PLANTED) >= 120
    assert len(missed) <= 0.05 * len(PLANTED), "\n".join(f"{one.kind}: {one.text}" for one in missed)


def test_at_most_1_of_100_honest_sentences_is_taken_for_a_credential() -> None:
    wrong = {sentence: found for sentence in HONEST if (found := find_credentials(sentence))}

    assert len(HONEST) >= 200
    assert len(wrong) <= 0.01 * len(HONEST), "\n".join(f"{found}: {sentence}" for sentence, found in wrong.items())


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("my password is swordfish, she said", f"my password is {REDACTED}, she said"),
        ("postgres://ana:s3cret@db/x", f"postgres://{REDACTED}@db/x"),
        ("DB_PASSWORD=hunter2\nDB_USER=ana", f"DB_PASSWORD={REDACTED}\nDB_USER=ana"),
        ("?user=ana&password=hunter2&page=3", f"?user=ana&password={REDACTED}&page=3"),
        ('{"password": "a b!c", "user": "bob"}', f'{{"password": "{REDACTED}", "user": "bob"}}'),
        ("passphrase: correct horse battery staple", f"passphrase: {REDACTED}"),
    ],
)
def test_what_is_around_a_credential_stays(text: str, kept: str) -> None:
    assert without_credentials(text) == (kept, 1)


@pytest.mark.parametrize(
    "code",
    [
        "def login(user: str, password: str) -> Session:", "password = os.environ['DB_PASSWORD']",
        "password=settings.db.password", "const token = await getToken(user);", "password: ${{ secrets.DB_PASSWORD }}",
        "password: process.env.PASSWORD", '<input type="password" name="password" required>', "password VARCHAR(255)",
        "if password is None:", "-----BEGIN CERTIFICATE-----", "WebClient('xoxb-your-slack-token')",
    ],
)  # fmt: skip
def test_code_that_handles_passwords_holds_none(code: str) -> None:
    assert find_credentials(code) == []


def test_a_text_without_its_credentials_holds_none() -> None:
    kept = [without_credentials(one.text)[0] for one in PLANTED]

    assert [text for text in kept if find_credentials(text)] == []


def test_a_value_is_read_together_with_its_name() -> None:
    call = {"tool": "login", "input": {"user": "ana", "password": "hunter2", "tries": 2, "hints": ["PIN: 4821"]}}

    kept, redacted = data_without_credentials([call])

    assert redacted == 2
    assert kept == [
        {"tool": "login", "input": {"user": "ana", "password": REDACTED, "tries": 2, "hints": [f"PIN: {REDACTED}"]}}
    ]


def test_a_refusal_names_the_kind_and_never_quotes_it() -> None:
    for one in PLANTED:
        with pytest.raises(InvalidRequestError, match="Save where it is kept, not the secret itself") as refusal:
            refuse_credentials("fact", one.text)

        assert one.secret not in str(refusal.value)

    with pytest.raises(InvalidRequestError, match="the preference holds what looks like a password"):
        refuse_credentials("preference", "sunshine24", name="wifi_password")


def test_checking_takes_microseconds_for_a_fact_and_milliseconds_for_a_long_turn() -> None:
    fact = "Ana Silva moved to Lisbon on 2026-03-02; she works nights at the hospital, and her password is new."
    turn = fact.replace("password", "bicycle") * 1_000 + " ".join(HONEST)

    assert quickest(lambda: refuse_credentials("fact", fact), times=100) < 50e-6
    assert quickest(lambda: without_credentials(turn[:100_000])) < 20e-3


@pytest.mark.parametrize(
    "piece", ["passw", "password ", "password for a", "password=", 'password:"\\', "PIN for ", "eyJ-", "aA1+/", "://a:"]
)
def test_no_text_takes_long(piece: str) -> None:
    text = piece * (100_000 // len(piece))

    assert quickest(lambda: without_credentials(text), rounds=2) < 0.5


def quickest(work: Callable[[], object], *, times: int = 1, rounds: int = 10) -> float:
    """Return the seconds of CPU time that it takes when nothing else gets in the way."""

    def once() -> float:
        started = time.process_time()
        for _ in range(times):
            work()
        return (time.process_time() - started) / times

    return min(once() for _ in range(rounds))
