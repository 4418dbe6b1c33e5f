"""Credentials in commands, in webhooks, and in the tokens of services."""

import pytest

from mcp_memory_server.domain.kernel.credentials import find_credentials, without_credentials

LETTERS = "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7"
PLANTED = [
    "curl -u anna:s3cretPw https://x.example",
    "curl -s --user anna:s3cretPw https://x.example",
    f"https://discord.com/api/webhooks/123456789012345678/{LETTERS}{LETTERS}",
    f"https://outlook.office.com/webhook/8a7b6c5d-1111-2222-3333-444455556666/IncomingWebhook/{LETTERS}",
    f"the bot is 123456789:AA{LETTERS}{LETTERS}",
    "mysql -u root -pHunter2x shop",
    "sshpass -p 'Hunter2x' ssh root@host",
    "redis-cli -h cache -a S3cretPass9",
    f"AGE-SECRET-KEY-1{'Q7' * 29}",
    *(f"{prefix}{LETTERS}{LETTERS}" for prefix in ("glsa_", "figd_", "dckr_pat_", "gsk_", "r8_", "sntrys_")),
    *(f"{prefix}{LETTERS}{LETTERS}" for prefix in ("xkeysib-", "nvapi-", "pplx-", "xai-", "PMAK-", "EAAC")),
]
CLEAN = [
    "curl -u $USER:$PASSWORD https://x.example",
    "curl -u <name>:<password> https://x.example",
    "Use curl with --user when the page asks for a login.",
    "The webhook of our shop is broken again.",
    "mysql -u root -p shop",
    "Play it at 12:30 on channel 4.",
    "redis-cli -a asks for a password.",
]


@pytest.mark.parametrize("text", PLANTED)
def test_it_is_found_and_redacted(text: str) -> None:
    kept, count = without_credentials(f"Please keep this: {text} and thanks.")

    assert count >= 1
    assert "[redacted]" in kept
    assert kept.endswith("and thanks.") or "thanks" in kept


@pytest.mark.parametrize("text", CLEAN)
def test_a_placeholder_or_a_remark_is_none(text: str) -> None:
    assert find_credentials(text) == []
