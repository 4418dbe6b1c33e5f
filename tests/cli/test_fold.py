"""The command for schedulers: it sums up what is over, folds what is old, and may be run at any time."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from mcp_memory_server import NewTurn, Role, Scope, Settings, open_memory
from mcp_memory_server.domain.summaries.summary import Level
from tests.cli.commands import Run


async def bring_along(table: Path, days: int) -> None:
    """Bring old conversations along, one a day, that nobody has summed up."""
    async with open_memory(Settings(table=f"sqlite://{table}", summarizer="none")) as memory:
        for number in range(1, days + 1):
            said_at = datetime.now(UTC) - timedelta(days=number)
            scope = Scope("ana", f"chat {number}")
            text = f"Please order {number} boxes of tulips."
            await memory.conversations.append(scope, NewTurn(Role.USER, text, said_at=said_at))
            await memory.finalizer.record_end(scope, said_at)


async def levels(table: Path) -> list[Level]:
    async with open_memory(Settings(table=f"sqlite://{table}", summarizer="none")) as memory:
        return [summary.level for summary in await memory.summaries.all(Scope("ana"))]


def test_old_conversations_are_summed_up_and_folded(run: Run, table: Path) -> None:
    asyncio.run(bring_along(table, 30))

    first, again = run("fold", "--json"), run("fold")

    assert first.json["sessions"] == 30
    assert first.json["users"] == 1
    assert first.json["summaries"] >= 20
    assert again.out == "saw to 0 sessions; folded 0 summaries of 0 users\n"
    found = asyncio.run(levels(table))
    assert Level.WEEK in found
    assert len(found) < 15


@pytest.mark.usefixtures("empty_table")
def test_nothing_to_do_is_no_error(run: Run) -> None:
    assert run("fold").out == "saw to 0 sessions; folded 0 summaries of 0 users\n"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("SUMMARIZER", "gpt", "built-in, anthropic:claude-haiku-5-5"),
        ("SUMMARIZER", "anthropic:m?region=x", "'region' is not an option"),
        ("SPENDING", "euros=4", "dollars=10"),
        ("SPENDING", "dollars=-1", "dollars=10"),
        ("PRICES", "claude-haiku-5-5=cheap", "INPUT/OUTPUT"),
    ],
)
def test_a_wrong_setting_shows_a_right_one(
    run: Run, monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(f"MCP_MEMORY_{name}", value)

    done = run("fold")

    assert done.code == 2
    assert f"MCP_MEMORY_{name}" in done.err
    assert says in done.err


@pytest.mark.usefixtures("empty_table")
def test_a_model_of_unknown_price_is_refused_before_it_is_asked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_MEMORY_SUMMARIZER", "bedrock://amazon.nova-lite-v1:0?region=eu-west-1")

    refused = run("fold")
    monkeypatch.setenv("MCP_MEMORY_PRICES", "nova-lite=0.06/0.24")

    assert refused.code == 2
    assert "MCP_MEMORY_PRICES=amazon.nova-lite-v1:0=INPUT/OUTPUT" in refused.err
    assert run("fold").code == 0


def test_doctor_says_that_the_ceiling_is_reached(run: Run, empty_table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_MEMORY_SUMMARIZER", "anthropic:claude-haiku-5-5")
    before = run("doctor")
    monkeypatch.setenv("MCP_MEMORY_SPENDING", "dollars=0")

    reached = run("doctor")

    assert "by anthropic:claude-haiku-5-5: $0.0000 and 0 tokens today" in before.out
    assert reached.code == 1
    assert "the ceiling is reached" in reached.out
    assert "MCP_MEMORY_SPENDING" in reached.out
