"""The catalogue of metrics: names, units, labels, and the alert of those that have one.

Labels are few, and never an id or a text: ``operation``, ``engine`` (sqlite, dynamodb, dax, redis, anthropic …),
``result`` and ``path`` (cluster, cluster_error, fallback, direct).
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

LATENCY_BUCKETS = (
    *(0.1, 0.25, 0.5, 1, 2.5, 5, 7.5, 10, 15, 20, 25, 30, 40, 50, 75, 100),
    *(250, 500, 1_000, 2_500, 5_000, 10_000, 30_000),
)
"""In milliseconds. Each limit of an alert is one of them, so that an alert is exact."""

DELAY_BUCKETS = (1, 5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000, 60_000, 300_000, 3_600_000)
ITEM_BUCKETS = (0, 1, 2, 5, 10, 15, 20, 30, 50, 100, 200, 500, 1_000)


PER_CALL = ("operation", "engine", "result")


class Kind(StrEnum):
    """How the values of a metric add up."""

    HISTOGRAM = "histogram"
    COUNTER = "counter"
    GAUGE = "gauge"


@dataclass(frozen=True)
class Alert:
    """A rule that fires when a figure has been beyond its limit for this many minutes; 0 means at once."""

    name: str
    figure: Literal["p95", "average", "value", "count a minute"]
    sign: Literal["<", ">"]
    limit: int
    minutes: int = 5


@dataclass(frozen=True)
class Metric:
    """One metric: the meaning of its values, the names of its labels, and the bounds of a histogram's buckets."""

    name: str
    kind: Kind
    unit: str
    description: str
    labels: tuple[str, ...] = ()
    alert: Alert | None = None
    buckets: tuple[float, ...] = ()


READ_LATENCY = Metric(
    "memory.read_latency_ms",
    Kind.HISTOGRAM,
    "ms",
    "Latency of a read of the table or of the session cache.",
    PER_CALL,
    Alert("memory_read_latency_p95_high", "p95", ">", 20),
    LATENCY_BUCKETS,
)
WRITE_LATENCY = Metric(
    "memory.write_latency_ms",
    Kind.HISTOGRAM,
    "ms",
    "Latency of a write to the table or to the session cache.",
    PER_CALL,
    Alert("memory_write_latency_p95_high", "p95", ">", 30),
    LATENCY_BUCKETS,
)
ITEMS_PER_QUERY = Metric(
    "memory.items_per_query",
    Kind.HISTOGRAM,
    "{item}",
    "Number of items that a query of the table returned.",
    ("engine",),
    Alert("memory_items_per_query_high", "average", ">", 20),
    ITEM_BUCKETS,
)
SESSION_CACHE_READS = Metric(
    "memory.session_cache_reads",
    Kind.COUNTER,
    "{read}",
    "Reads of a running session: a hit was answered by the session cache, a miss by the table.",
    ("result",),
)
SESSION_CACHE_HIT_RATE = Metric(
    "memory.session_cache_hit_rate",
    Kind.GAUGE,
    "%",
    "Share of the session reads of the last five minutes that were hits.",
    alert=Alert("memory_session_cache_hit_rate_low", "value", "<", 60),
)
SESSION_STORE_ERRORS = Metric(
    "memory.session_store_errors",
    Kind.COUNTER,
    "{error}",
    "Calls that the session cache did not answer in time. Replies became slower, not wrong.",
    ("operation", "engine"),
)
DEAD_LETTERS = Metric(
    "memory.dlq_messages",
    Kind.COUNTER,
    "{message}",
    "Acknowledged turns that the table rejected and that became dead letters.",
    alert=Alert("memory_dead_letter_rate_high", "count a minute", ">", 10, minutes=0),
)
OUTBOX_LAG = Metric(
    "memory.outbox_lag_ms",
    Kind.GAUGE,
    "ms",
    "Age of the oldest acknowledged turn in the outbox.",
    alert=Alert("memory_outbox_lag_high", "value", ">", 60_000),
)
OUTBOX_TURNS = Metric("memory.outbox_turns", Kind.GAUGE, "{turn}", "Number of acknowledged turns in the outbox.")
OUTBOX_DELIVERY = Metric(
    "memory.outbox_delivery_ms",
    Kind.HISTOGRAM,
    "ms",
    "Time from the acknowledgement of a turn until the outbox had written it to the table.",
    buckets=DELAY_BUCKETS,
)
SALTED_SESSIONS = Metric(
    "memory.salted_sessions", Kind.COUNTER, "{session}", "Hot sessions that were spread over more partitions."
)
THROTTLED_CALLS = Metric(
    "memory.throttled_calls", Kind.COUNTER, "{call}", "Calls that the table throttled.", ("engine",)
)
FOREIGN_VECTORS = Metric(
    "memory.foreign_vectors",
    Kind.COUNTER,
    "{item}",
    "Items of another owner that the vector index returned. They were dropped unread.",
    alert=Alert("memory_foreign_vectors_found", "count a minute", ">", 0, minutes=0),
)

DAX_REQUESTS = Metric(
    "dax.requests",
    Kind.COUNTER,
    "{request}",
    "Requests by the path they took: through the DAX cluster or past it.",
    ("operation", "path"),
)
DAX_LATENCY = Metric(
    "dax.request_latency_ms",
    Kind.HISTOGRAM,
    "ms",
    "Latency of a request on each path, failed requests included.",
    ("operation", "path"),
    buckets=LATENCY_BUCKETS,
)
DAX_ITEM_CACHE_READS = Metric(
    "dax.item_cache_reads",
    Kind.COUNTER,
    "{read}",
    "Reads from the item cache of DAX: a hit cost no read of the table.",
    ("result",),
)
DAX_ITEM_CACHE_HIT_RATE = Metric(
    "dax.item_cache_hit_rate",
    Kind.GAUGE,
    "%",
    "Share of the item cache reads of the last five minutes that were hits.",
    alert=Alert("dax_item_cache_hit_rate_low", "value", "<", 60),
)
SUMMARIES = Metric(
    "memory.summaries",
    Kind.COUNTER,
    "{summary}",
    "Session summaries by summarizer; the result is why the built-in one replaced a model.",
    ("engine", "result"),
)
MODEL_TOKENS = Metric("memory.model_tokens", Kind.COUNTER, "{token}", "Input and output tokens of models.", ("engine",))
MODEL_BUDGET_USED = Metric(
    "memory.model_budget_used",
    Kind.GAUGE,
    "%",
    "Share of the daily budget for models that is used; at 100 the built-in summarizer takes over.",
    alert=Alert("memory_model_budget_used_high", "value", ">", 90),
)

METRICS = (
    READ_LATENCY,
    WRITE_LATENCY,
    ITEMS_PER_QUERY,
    SESSION_CACHE_READS,
    SESSION_CACHE_HIT_RATE,
    SESSION_STORE_ERRORS,
    DEAD_LETTERS,
    OUTBOX_LAG,
    OUTBOX_TURNS,
    OUTBOX_DELIVERY,
    SALTED_SESSIONS,
    THROTTLED_CALLS,
    FOREIGN_VECTORS,
    DAX_REQUESTS,
    DAX_LATENCY,
    DAX_ITEM_CACHE_READS,
    DAX_ITEM_CACHE_HIT_RATE,
    SUMMARIES,
    MODEL_TOKENS,
    MODEL_BUDGET_USED,
)
"""Every metric, with its name, unit, labels and the condition of its alert."""


def alert_condition(metric: Metric) -> str:
    """Return the condition of the alert, as OPERATIONS.md shows it: "p95 > 20 ms for 5 min"."""
    if metric.alert is None:
        return "none"
    unit = "" if metric.unit.startswith("{") else f" {metric.unit}"
    lasting = f" for {metric.alert.minutes} min" if metric.alert.minutes else ""
    return f"{metric.alert.figure} {metric.alert.sign} {metric.alert.limit}{unit}{lasting}"
