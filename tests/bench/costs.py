"""What memory costs at a million messages a day: the counters of a real run, and the prices of the day."""

import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from mcp_memory_server import Memory, NewTurn, Role, Scope
from mcp_memory_server.adapters.anthropic.summarizer import open_anthropic
from mcp_memory_server.adapters.dynamodb.item_table import open_dynamodb
from mcp_memory_server.adapters.redis.sessions import open_redis
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.addresses import DynamoDbTable, parse_table
from mcp_memory_server.domain.kernel.spending import DEFAULT_PRICES, PRICES_OF, Ceiling
from mcp_memory_server.domain.sessions.limits import Tier
from mcp_memory_server.schema.keys import spent_key
from mcp_memory_server.wiring import SessionBackends, running
from mcp_memory_server.wiring.summaries import ChosenModel, FinalizerOptions
from tests.bench.figures import Cell, Figures
from tests.bench.metered_dynamodb import Meter, metered
from tests.bench.stage import Stage
from tests.engines.summary_models import ANTHROPIC_MODEL, model_service, of_anthropic

SESSIONS, USERS, TURNS = 200, 40, 10
MESSAGES_A_DAY = 1_000_000
DAYS_A_MONTH = 30
PATIENCE = timedelta(seconds=60)
DAY = date(2026, 3, 2)

# On demand in us-east-1, in dollars, as they were on the day of the prices of models.
WRITE_UNITS, READ_UNITS = 0.625 / 1e6, 0.125 / 1e6

USER_SAYS = (
    "I need to change the delivery of order {n}: please send it to the office on {d} instead of to my home, because "
    "nobody is there during the week. Is that still possible, and does it cost extra?"
)
ASSISTANT_SAYS = (
    "I have looked at order {n}. It has not left the warehouse yet, so the address can still be changed without a fee. "
    "It would arrive at the office on {d} between nine and noon; somebody has to sign for it. Shall I go ahead?"
)
ANSWER = json.dumps(
    {
        "discussed": [
            "The user asked to move the delivery of several orders from home to the office.",
            "The assistant confirmed that orders which have not left the warehouse can be changed without a fee.",
            "Deliveries to the office arrive between nine and noon and have to be signed for.",
            "The user agreed to have all open orders sent to the office from now on.",
        ],
        "preferences": ["Deliveries should go to the office on weekdays."],
        "unresolved": ["Whether the order that left the warehouse already can be sent on to the office."],
        "answered": [],
        "topics": ["delivery", "orders", "office address", "fees"],
        "sentiment": "neutral",
        "learned": [
            {
                "fact": "Nobody is at the user's home during the week.",
                "topic": "preferences/delivery",
                "quote": "nobody is there during the week",
                "turn": 1,
                "stated": True,
            }
        ],
    }
)


@dataclass(frozen=True)
class Counts:
    """What a run took, for each session."""

    requests: Mapping[str, float]
    writes: Mapping[str, float]
    reads: Mapping[str, float]
    input_tokens: float
    output_tokens: float
    dollars_a_summary: float


async def measure_costs(stage: Stage) -> Figures:
    table = parse_table((await stage.fresh()).table)
    assert isinstance(table, DynamoDbTable)
    with metered(stage.endpoint) as meter:
        counts = await _run(table.name, meter, stage)
    return _figures(counts)


async def _run(table: str, meter: Meter, stage: Stage) -> Counts:
    os.environ["ANTHROPIC_API_KEY"] = "measured"
    moment = [datetime.combine(DAY, time(1), UTC)]
    async with _memory(table, meter, stage, moment) as memory:
        for number in range(SESSIONS):
            scope = Scope(f"user {number % USERS}", f"session {number}")
            await _hold(memory, meter, scope, number, moment)
        moment[0] += timedelta(hours=3)
        meter.phase = "end of the session"
        await memory.finalizer.finish_due()
        moment[0] += timedelta(days=9)
        meter.phase = "folding"
        await memory.finalizer.fold_due()
        assert memory.spending is not None
        spent = await memory.table.get(spent_key(None, DAY))
    body = {} if spent is None else spent.body
    assert body.get("requests") == SESSIONS

    def each(counted: Mapping[object, float]) -> dict[str, float]:
        return {str(phase): value / SESSIONS for phase, value in counted.items()}

    return Counts(
        requests=each({phase: meter.requests[phase] for phase in PHASES}),
        writes=each({phase: meter.units[phase, "write"] for phase in PHASES}),
        reads=each({phase: meter.units[phase, "read"] for phase in PHASES}),
        input_tokens=float(str(body["input"])) / SESSIONS,
        output_tokens=float(str(body["output"])) / SESSIONS,
        dollars_a_summary=float(str(body["micros"])) / 1e6 / SESSIONS,
    )


PHASES = ("start of the session", "10 messages", "end of the session", "folding")


@asynccontextmanager
async def _memory(table: str, meter: Meter, stage: Stage, moment: list[datetime]) -> AsyncGenerator[Memory]:
    async with AsyncExitStack() as opened:
        service = opened.enter_context(model_service(of_anthropic))
        service.always = lambda: ANSWER
        items = open_dynamodb(table, endpoint=meter.endpoint, deadline=PATIENCE, now=lambda: moment[0])
        opened.push_async_callback(items.close)
        sessions = open_redis(stage.redis.url, deadline=PATIENCE, settling=timedelta(0))
        opened.push_async_callback(sessions.close)
        model = open_anthropic(ANTHROPIC_MODEL, endpoint=service.endpoint, count=count_tokens, deadline=PATIENCE)
        options = FinalizerOptions(ChosenModel(model, DEFAULT_PRICES[ANTHROPIC_MODEL], Ceiling()))
        beside = SessionBackends(sessions.cache, sessions.channel, sessions.deadlines)
        # A second of the machine is none of the conversation's: counters are written as often as they would be.
        yield await opened.enter_async_context(
            running(
                items, beside, now=lambda: moment[0], monotonic=lambda: moment[0].timestamp(), finalizer=lambda: options
            )
        )


async def _hold(memory: Memory, meter: Meter, scope: Scope, number: int, moment: list[datetime]) -> None:
    meter.phase = "start of the session"
    await memory.context.load(scope)
    meter.phase = "10 messages"
    for turn in range(TURNS):
        role, text = ((Role.USER, USER_SAYS), (Role.ASSISTANT, ASSISTANT_SAYS))[turn % 2]
        await memory.conversations.load(scope)
        said = text.format(n=1000 * number + turn, d=f"{moment[0]:%A}")
        await memory.conversations.append(scope, NewTurn(role, said))
        moment[0] += timedelta(seconds=20)
        if turn == 0:
            await memory.finalizer.watch({scope: Tier.STANDARD})


def _figures(counts: Counts) -> Figures:
    a_month = MESSAGES_A_DAY / TURNS * DAYS_A_MONTH
    rows: list[Mapping[str, Cell]] = []
    for phase in PHASES:
        dollars = counts.writes[phase] * WRITE_UNITS + counts.reads[phase] * READ_UNITS
        rows.append(
            {
                "of a session": phase,
                "table requests": counts.requests[phase],
                "write units": counts.writes[phase],
                "read units": counts.reads[phase],
                "$ a month": dollars * a_month,
            }
        )
    table = sum(float(row["$ a month"]) for row in rows)
    model = counts.dollars_a_summary * a_month
    summary = (
        f"{counts.input_tokens:,.0f} tokens in and {counts.output_tokens:,.0f} out: ${counts.dollars_a_summary:.6f}"
    )
    together = f"table ${table:,.0f}, model ${model:,.0f}, together ${table + model:,.0f} a month"
    return Figures(
        f"What {MESSAGES_A_DAY:,} messages a day cost ({TURNS} a session, prices of {PRICES_OF})",
        rows,
        (
            f"{SESSIONS} sessions were held, summed up by {ANTHROPIC_MODEL} behind a local endpoint, and folded",
            f"a summary took {summary} (the sources' estimate: $0.001)",
            f"{together}, beside storage and Redis (the sources' estimate for the memory subsystem: $268)",
        ),
    )
