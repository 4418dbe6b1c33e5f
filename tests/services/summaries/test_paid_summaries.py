"""Sessions that a model sums up: whatever the model does, each session has one summary, and the ceiling holds."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server import Memory, Scope
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.kernel.spending import Ceiling, Limit, Price, Tokens, parse_ceiling
from mcp_memory_server.ports.metric_catalogue import SUMMARIES, Metric
from mcp_memory_server.ports.metrics import Metrics, NoMetrics
from mcp_memory_server.schema.ending_records import ending_from, ending_key
from mcp_memory_server.services.kernel.spending import Spending
from mcp_memory_server.wiring.summaries import ChosenModel, FinalizerOptions
from tests.clock import FakeClock
from tests.engines.summarizers import MODELS, PATIENCE
from tests.engines.summary_models import ModelService, refuse
from tests.services.summaries.finalizer_stage import finalizing_memory, summaries_stored, talk

pytestmark = pytest.mark.anyio

HAIKU = Price(0.10, 0.50)
SESSIONS = 4
SHORT = timedelta(seconds=1)


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")


class Noted:
    """Metrics that remember what made summaries, and why."""

    def __init__(self) -> None:
        self.summaries: list[tuple[str, str]] = []

    def record(self, metric: Metric, value: float, **labels: str) -> None:  # noqa: ARG002
        if metric is SUMMARIES:
            self.summaries.append((labels["engine"], labels["result"]))


@asynccontextmanager
async def paid(
    engine: str,
    path: Path,
    clock: FakeClock,
    ceiling: str = "none",
    *,
    deadline: timedelta = PATIENCE,
    metrics: Metrics | None = None,
) -> AsyncIterator[tuple[Memory, ModelService]]:
    async with MODELS[engine](deadline) as (summarizer, service):
        options = FinalizerOptions(ChosenModel(summarizer, HAIKU, parse_ceiling(ceiling)))
        async with finalizing_memory(path, clock, options=options, metrics=metrics) as memory:
            yield memory, service


async def hold_sessions(memory: Memory, count: int = SESSIONS) -> list[Scope]:
    sessions = [Scope(f"user {number}", "chat") for number in range(count)]
    for session in sessions:
        await talk(memory, session, "I prefer window seats on trains to Madrid.", "Noted.")
        await memory.conversations.end(session)
    return sessions


async def made_by(memory: Memory, sessions: list[Scope]) -> list[str]:
    """Return what made the summary of each session, which must be one."""
    makers: list[str] = []
    for session in sessions:
        (summary,) = await memory.summaries.all(session)
        assert len(await summaries_stored(memory, session)) == 1
        assert ending_from(await memory.table.get(ending_key(session))).times == 1
        assert any("Madrid" in sentence for sentence in summary.discussed)
        makers.append(summary.made_by.partition("/")[0])
    return makers


def nonsense() -> str:
    return "I would rather talk about the weather."


def slow() -> None:
    time.sleep(0.2)


Happening = Callable[[], str | None]
CASES: dict[str, tuple[list[Happening] | Happening, str]] = {
    "success": ([], "model"),
    "one 429": ([refuse(429, "ThrottlingException", retry_after="0")], "model"),
    "one 529": ([refuse(529, "overloaded_error", retry_after="0")], "model"),
    "nonsense once": ([nonsense], "model"),
    "always slow": (slow, "model"),
    "always 429": (refuse(429, "ThrottlingException", retry_after="0"), "built-in"),
    "always 529": (refuse(529, "overloaded_error", retry_after="0"), "built-in"),
    "always nonsense": (nonsense, "built-in"),
    "a wrong key": (refuse(403, "AccessDeniedException"), "built-in"),
}


@pytest.mark.parametrize("engine", MODELS)
@pytest.mark.parametrize("case", CASES)
async def test_every_session_has_one_summary_whatever_the_model_does(
    engine: str, case: str, path: Path, clock: FakeClock
) -> None:
    happening, expected = CASES[case]
    async with paid(engine, path, clock) as (memory, service):
        service.next, service.always = (happening, None) if isinstance(happening, list) else ([], happening)
        sessions = await hold_sessions(memory)

        await memory.finalizer.finish_due()
        await memory.finalizer.finish_due()

        makers = await made_by(memory, sessions)
        assert makers == [engine if expected == "model" else "built-in"] * SESSIONS


@pytest.mark.parametrize("engine", MODELS)
async def test_a_model_that_hangs_holds_no_session_up_for_long(engine: str, path: Path, clock: FakeClock) -> None:
    released = threading.Event()
    async with paid(engine, path, clock, deadline=SHORT) as (memory, service):
        service.always = lambda: str(released.wait(30))
        sessions = await hold_sessions(memory)

        await memory.finalizer.finish_due()
        released.set()

        assert await made_by(memory, sessions) == ["built-in"] * SESSIONS


@pytest.mark.parametrize("engine", MODELS)
async def test_at_the_ceiling_the_built_in_summarizer_serves_and_no_model_is_asked(
    engine: str, path: Path, clock: FakeClock
) -> None:
    async with paid(engine, path, clock, "tokens=1") as (memory, service):
        sessions = await hold_sessions(memory)

        await memory.finalizer.finish_due()

        assert await made_by(memory, sessions) == ["built-in"] * SESSIONS
        assert service.asked == []


async def test_a_user_at_their_own_ceiling_does_not_touch_others(path: Path, clock: FakeClock) -> None:
    async with paid("anthropic", path, clock, "user-dollars=0.00095") as (memory, _):
        first, second = Scope("anna", "one"), Scope("anna", "two")
        for session in (first, second, Scope("bo", "one")):
            await talk(memory, session, "I prefer window seats on trains to Madrid.", "Noted.")
            await memory.conversations.end(session)
            await memory.finalizer.finish_due()

        of_anna = [summary.made_by.partition("/")[0] for summary in await memory.summaries.all(Scope("anna"))]
        assert sorted(of_anna) == ["anthropic", "built-in"]
        assert await made_by(memory, [Scope("bo", "one")]) == ["anthropic"]


async def test_a_new_day_has_a_new_ceiling(path: Path, clock: FakeClock) -> None:
    async with paid("anthropic", path, clock, "dollars=0.00095") as (memory, service):
        for number in range(3):
            session = Scope(f"user {number}", "chat")
            await talk(memory, session, "I prefer window seats on trains to Madrid.", "Noted.")
            await memory.conversations.end(session)
            await memory.finalizer.finish_due()
        today = len(service.asked)

        clock.advance(timedelta(days=1))
        await talk(memory, Scope("late", "chat"), "I prefer window seats on trains to Madrid.", "Noted.")
        await memory.conversations.end(Scope("late", "chat"))
        await memory.finalizer.finish_due()

        assert (today, len(service.asked)) == (1, 2)


async def test_what_a_summary_cost_is_what_is_counted(path: Path, clock: FakeClock) -> None:
    async with paid("anthropic", path, clock, "dollars=1") as (memory, _):
        await hold_sessions(memory, 3)

        await memory.finalizer.finish_due()

        assert memory.spending is not None
        today = await memory.spending.today()
        assert today.requests == 3
        assert 0 < today.spent.tokens < 3 * 2000
        assert 0 < today.spent.dollars < 0.001


async def test_a_ceiling_holds_however_many_ask_at_once(path: Path, clock: FakeClock) -> None:
    table = await SqliteItemTable.open(path, now=clock)
    others = await SqliteItemTable.open(path, now=clock)
    limit = Ceiling(Limit(tokens=10_000))
    purses = [Spending(one, limit, HAIKU, NoMetrics(), clock) for one in (table, others)]

    asked = [purses[number % 2].reserve(Scope(f"user {number}"), Tokens(700, 300)) for number in range(40)]
    given = [one for one in await asyncio.gather(*asked) if one is not None]

    assert len(given) <= 10
    assert (await purses[0].today()).spent.tokens == 1000 * len(given)
    await others.close()
    await table.close()


async def test_what_was_reserved_survives_a_restart_and_what_was_never_begun_is_given_back(
    path: Path, clock: FakeClock
) -> None:
    table = await SqliteItemTable.open(path, now=clock)
    purse = Spending(table, Ceiling(Limit(tokens=10_000)), HAIKU, NoMetrics(), clock)
    kept, given_back = [await purse.reserve(Scope("anna"), Tokens(3000, 1000)) for _ in range(2)]
    assert kept is not None
    assert given_back is not None
    await purse.release(given_back)
    await table.close()

    again = await SqliteItemTable.open(path, now=clock)
    later = Spending(again, Ceiling(Limit(tokens=10_000)), HAIKU, NoMetrics(), clock)

    assert (await later.today()).spent.tokens == 4000
    assert await later.reserve(Scope("anna"), Tokens(6001, 0)) is None
    assert await later.reserve(Scope("anna"), Tokens(6000, 0)) is not None
    await again.close()


async def test_the_metrics_say_why_the_built_in_summarizer_served(path: Path, clock: FakeClock) -> None:
    noted = Noted()
    async with paid("anthropic", path, clock, "dollars=0.00095", metrics=noted) as (memory, service):
        service.next = [nonsense, nonsense]
        for number in range(2):
            await talk(memory, Scope("anna", f"{number}"), "I prefer window seats on trains to Madrid.", "Noted.")
            await memory.conversations.end(Scope("anna", f"{number}"))
            await memory.finalizer.finish_due()
            clock.advance(timedelta(days=1 - number))
        await hold_sessions(memory, 1)
        await memory.finalizer.finish_due()

    assert noted.summaries == [("built-in", "invalid_reply"), ("anthropic", "ok"), ("built-in", "over_budget")]


async def test_a_model_is_asked_once_for_a_session_that_two_callers_of_one_process_finish(
    path: Path, clock: FakeClock
) -> None:
    async with paid("anthropic", path, clock) as (memory, service):
        sessions = await hold_sessions(memory)
        service.always = slow

        await asyncio.gather(*(memory.finalizer.finish(sessions) for _ in range(3)))
        await memory.finalizer.finish_due()

        assert len(service.asked) == SESSIONS
        assert await made_by(memory, sessions) == ["anthropic"] * SESSIONS


async def test_a_model_is_asked_once_also_beside_the_background_worker(path: Path, clock: FakeClock) -> None:
    async with MODELS["anthropic"](PATIENCE) as (summarizer, service):
        options = FinalizerOptions(ChosenModel(summarizer, HAIKU, parse_ceiling("none")))
        async with finalizing_memory(path, clock, options=options, runs=True) as memory:
            service.always = slow
            sessions = await hold_sessions(memory)
            await memory.finalizer.finish_due()

        assert len(service.asked) == SESSIONS
        assert len(sessions) == SESSIONS
