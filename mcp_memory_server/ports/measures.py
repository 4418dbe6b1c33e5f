"""All metrics by name, and the limits at which an operator is alerted.

Labels have few values, and never an id or a text: ``operation``, ``engine`` (sqlite, dynamodb, dax, redis, anthropic
…), ``result`` and ``path`` (cluster, silent, fallback, table).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

LATENCY_BUCKETS = (
    *(0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10, 15, 20, 25, 30, 40, 50, 75, 100),
    *(250, 500, 1_000, 2_500, 5_000, 10_000, 30_000),
)
"""In milliseconds. The limit of each alarm is one of them, so that an alarm is exact."""

DELAY_BUCKETS = (1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 3_600_000)
ITEM_BUCKETS = (0, 1, 2, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1_000)


PER_CALL = ("operation", "engine", "result")


class Kind(StrEnum):
    """The type of a metric."""

    HISTOGRAM = "histogram"
    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True)
class Alarm:
    """An alert, raised when a figure stays beyond its limit for this many minutes."""

    figure: Literal["p95", "average", "value", "count a minute"]
    sign: Literal["<", ">"]
    limit: int
    minutes: int = 5


@dataclass(frozen=True)
class Measure:
    """One metric: its name, unit, meaning and labels, and the bounds of a histogram's buckets."""

    name: str
    kind: Kind
    unit: str
    description: str
    labels: tuple[str, ...] = ()
    alarm: Alarm | None = None
    buckets: tuple[float, ...] = ()


READ_LATENCY = Measure(
    "memory.read_latency_ms",
    Kind.HISTOGRAM,
    "ms",
    "How long a read of the table or of the session cache took.",
    PER_CALL,
    Alarm("p95", ">", 20),
    LATENCY_BUCKETS,
)
WRITE_LATENCY = Measure(
    "memory.write_latency_ms",
    Kind.HISTOGRAM,
    "ms",
    "How long a write to the table or to the session cache took.",
    PER_CALL,
    Alarm("p95", ">", 30),
    LATENCY_BUCKETS,
)
ITEMS_PER_QUERY = Measure(
    "memory.items_per_query",
    Kind.HISTOGRAM,
    "{item}",
    "How many items a query of the table returned.",
    ("engine",),
    Alarm("average", ">", 20),
    ITEM_BUCKETS,
)
SESSION_CACHE_READS = Measure(
    "memory.session_copy_reads",
    Kind.COUNTER,
    "{read}",
    "Reads of a running session: a hit was answered by the session cache, a miss by the table.",
    ("result",),
)
CACHE_HIT_RATE = Measure(
    "memory.cache_hit_rate",
    Kind.GAUGE,
    "%",
    "Percentage of the session reads of the last five minutes that were hits.",
    alarm=Alarm("value", "<", 60),
)
SESSION_STORE_ERRORS = Measure(
    "memory.session_store_errors",
    Kind.COUNTER,
    "{error}",
    "Calls that the session cache did not answer. Replies were slower because of them, not wrong.",
    ("operation", "engine"),
)
DEAD_LETTERS = Measure(
    "memory.dlq_messages",
    Kind.COUNTER,
    "{message}",
    "Acknowledged turns that the table refused and that became dead letters.",
    alarm=Alarm("count a minute", ">", 10, minutes=0),
)
OUTBOX_LAG = Measure(
    "memory.outbox_lag_ms",
    Kind.GAUGE,
    "ms",
    "How long the oldest acknowledged turn has been waiting for the table.",
    alarm=Alarm("value", ">", 60_000),
)
OUTBOX_TURNS = Measure(
    "memory.outbox_turns", Kind.GAUGE, "{turn}", "How many acknowledged turns are waiting for the table."
)
WRITE_TO_RECALLABLE = Measure(
    "memory.write_to_recallable_ms",
    Kind.HISTOGRAM,
    "ms",
    "Time from the acknowledgement of a turn until it was in the table.",
    buckets=DELAY_BUCKETS,
)
SALTED_SESSIONS = Measure(
    "memory.salted_sessions", Kind.COUNTER, "{session}", "How often a hot session was spread over more partitions."
)
THROTTLED = Measure(
    "memory.throttled", Kind.COUNTER, "{call}", "Calls that the table refused because of throttling.", ("engine",)
)
FOREIGN_VECTORS = Measure(
    "memory.foreign_vectors",
    Kind.COUNTER,
    "{item}",
    "Items of another owner that the vector index returned. They were dropped and never read.",
    alarm=Alarm("count a minute", ">", 0, minutes=0),
)

DAX_REQUESTS = Measure(
    "dax.requests",
    Kind.COUNTER,
    "{request}",
    "Requests by path: answered by DAX, not answered (silent), repeated at the table, or sent to the table only.",
    ("operation", "path"),
)
DAX_LATENCY = Measure(
    "dax.request_latency_ms",
    Kind.HISTOGRAM,
    "ms",
    "How long a request took on each path, including failed ones.",
    ("operation", "path"),
    buckets=LATENCY_BUCKETS,
)
DAX_ITEM_READS = Measure(
    "dax.item_cache_reads",
    Kind.COUNTER,
    "{read}",
    "Reads from the item cache of DAX: a hit cost the table nothing.",
    ("result",),
)
DAX_CACHE_HIT_RATE = Measure(
    "dax.cache_hit_rate",
    Kind.GAUGE,
    "%",
    "Percentage of the reads from the item cache of the last five minutes that were hits.",
    alarm=Alarm("value", "<", 60),
)
SUMMARIES = Measure(
    "memory.summaries",
    Kind.COUNTER,
    "{summary}",
    "Summaries of sessions by summarizer; the result says why the built-in one replaced a model.",
    ("engine", "result"),
)
MODEL_TOKENS = Measure(
    "memory.model_tokens", Kind.COUNTER, "{token}", "Input and output tokens of models.", ("engine",)
)
SPENDING = Measure(
    "memory.spending",
    Kind.GAUGE,
    "%",
    "Spent share of the day's ceiling for models; at 100 the built-in summarizer takes over.",
    alarm=Alarm("value", ">", 90),
)

MEASURES = (
    READ_LATENCY,
    WRITE_LATENCY,
    ITEMS_PER_QUERY,
    SESSION_CACHE_READS,
    CACHE_HIT_RATE,
    SESSION_STORE_ERRORS,
    DEAD_LETTERS,
    OUTBOX_LAG,
    OUTBOX_TURNS,
    WRITE_TO_RECALLABLE,
    SALTED_SESSIONS,
    THROTTLED,
    FOREIGN_VECTORS,
    DAX_REQUESTS,
    DAX_LATENCY,
    DAX_ITEM_READS,
    DAX_CACHE_HIT_RATE,
    SUMMARIES,
    MODEL_TOKENS,
    SPENDING,
)


def alarm_in_words(measure: Measure) -> str:
    """Return the condition of the alarm in words: "p95 > 20 ms for 5 min"."""
    if measure.alarm is None:
        return "none"
    unit = "" if measure.unit.startswith("{") else f" {measure.unit}"
    lasting = f" for {measure.alarm.minutes} min" if measure.alarm.minutes else ""
    return f"{measure.alarm.figure} {measure.alarm.sign} {measure.alarm.limit}{unit}{lasting}"
