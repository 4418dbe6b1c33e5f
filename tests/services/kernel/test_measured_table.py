"""The table and the stores of sessions, measured: what is recorded of each call, and that nothing else changes."""

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from mcp_memory_server.adapters.opentelemetry import calls
from mcp_memory_server.adapters.opentelemetry.item_table import MeasuredItemTable
from mcp_memory_server.adapters.opentelemetry.metrics import OpenTelemetryMetrics
from mcp_memory_server.adapters.opentelemetry.prometheus_page import PrometheusPage
from mcp_memory_server.adapters.opentelemetry.session_stores import (
    MeasuredSessionCache,
    MeasuredSessionDeadlines,
    SessionCalls,
)
from mcp_memory_server.adapters.redis.sessions import open_redis
from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
from mcp_memory_server.domain.kernel.items import Key, Put, Update
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import CacheUnavailableError, ConflictError, TableUnavailableError
from mcp_memory_server.ports import metric_catalogue as catalogue
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metric_catalogue import METRICS, SESSION_CACHE_READS, Kind, Metric
from mcp_memory_server.ports.session_cache import SessionCache
from mcp_memory_server.ports.session_deadlines import SessionDeadlines
from tests.clock import FakeClock

pytestmark = pytest.mark.anyio

KEY = Key("USER#anna", "FACT#city")
SECRET = "Anna lives in Bern"
NOBODY_LISTENS = "redis://127.0.0.1:1"


class Stopwatch:
    """Moves on by seven milliseconds whenever it is looked at."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def __call__(self) -> float:
        self._seconds += 0.007
        return self._seconds


@pytest.fixture
def reader() -> InMemoryMetricReader:
    return InMemoryMetricReader()


@pytest.fixture
def metrics(reader: InMemoryMetricReader) -> OpenTelemetryMetrics:
    return OpenTelemetryMetrics(MeterProvider([reader], shutdown_on_exit=False))


@pytest.fixture
async def table(path: Path, clock: FakeClock, metrics: OpenTelemetryMetrics) -> AsyncIterator[ItemTable]:
    real = await SqliteItemTable.open(path, now=clock)
    yield MeasuredItemTable(real, metrics, engine="sqlite", clock=Stopwatch())
    await real.close()


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(calls, "_tracer", provider.get_tracer("tests"))
    yield exporter
    provider.shutdown()


def points(reader: InMemoryMetricReader, metric: Metric) -> list[Any]:
    data = reader.get_metrics_data()
    scopes = [] if data is None else [scope for resource in data.resource_metrics for scope in resource.scope_metrics]
    found = [one for scope in scopes for one in scope.metrics if one.name == metric.name]
    return [point for metric in found for point in metric.data.data_points]


def labels(reader: InMemoryMetricReader, metric: Metric) -> list[tuple[Any, ...]]:
    return [tuple(point.attributes.get(name) for name in metric.labels) for point in points(reader, metric)]


async def test_a_read_is_recorded_in_milliseconds_with_what_was_done_where(
    table: ItemTable, reader: InMemoryMetricReader
) -> None:
    await table.get(KEY)

    (point,) = points(reader, catalogue.READ_LATENCY)
    assert (point.count, point.sum) == (1, pytest.approx(7))
    assert dict(point.attributes) == {"operation": "get", "engine": "sqlite", "result": "ok"}


async def test_every_call_is_recorded_under_its_own_name(table: ItemTable, reader: InMemoryMetricReader) -> None:
    await table.put(Put(KEY, {"text": SECRET}))
    await table.write([Put(Key("USER#anna", "FACT#name"), {"text": "Anna"})])
    await table.update(Update(KEY, add={"uses": 1}))
    await table.get_many([KEY])
    await table.query(KEY.pk, limit=10)
    await table.find("nothing", limit=1)
    await table.delete(KEY)
    await table.delete_many([KEY])

    reads = {operation for operation, _, _ in labels(reader, catalogue.READ_LATENCY)}
    writes = {operation for operation, _, _ in labels(reader, catalogue.WRITE_LATENCY)}
    assert reads == {"get_many", "query", "find"}
    assert writes == {"put", "write", "update", "delete", "delete_many"}


async def test_a_query_tells_how_many_items_it_returned(table: ItemTable, reader: InMemoryMetricReader) -> None:
    for number in range(3):
        await table.put(Put(Key("USER#anna", f"FACT#{number}"), {"text": "x"}))

    await table.query("USER#anna", limit=None)
    await table.query("USER#nobody", limit=None)

    (point,) = points(reader, catalogue.ITEMS_PER_QUERY)
    assert (point.count, point.sum, point.max) == (2, 3, 3)


async def test_a_conflict_reaches_the_caller_and_is_recorded_as_one(
    table: ItemTable, reader: InMemoryMetricReader
) -> None:
    await table.put(Put(KEY, {"text": "first"}))

    with pytest.raises(ConflictError):
        await table.put(Put(KEY, {"text": "late"}, expected_version=7))

    assert sorted(labels(reader, catalogue.WRITE_LATENCY)) == [("put", "sqlite", "conflict"), ("put", "sqlite", "ok")]


async def test_a_table_that_does_not_answer_is_recorded_as_unavailable(
    table: ItemTable, reader: InMemoryMetricReader
) -> None:
    await table.close()

    with pytest.raises(TableUnavailableError):
        await table.get(KEY)

    assert labels(reader, catalogue.READ_LATENCY) == [("get", "sqlite", "unavailable")]


async def test_a_session_store_that_does_not_answer_is_counted_as_an_error(
    metrics: OpenTelemetryMetrics, reader: InMemoryMetricReader
) -> None:
    sessions = open_redis(NOBODY_LISTENS)
    cache = MeasuredSessionCache(sessions.cache, SessionCalls(metrics, "redis"))

    with pytest.raises(CacheUnavailableError):
        await cache.drop(Scope("anna", "s1"))
    await sessions.close()

    assert labels(reader, catalogue.SESSION_STORE_ERRORS) == [("drop", "redis")]
    assert labels(reader, catalogue.WRITE_LATENCY) == [("drop", "redis", "unavailable")]


@pytest.mark.parametrize(
    ("reads", "rate_of_hits"),
    [
        (SESSION_CACHE_READS, catalogue.SESSION_CACHE_HIT_RATE),
        (catalogue.DAX_ITEM_CACHE_READS, catalogue.DAX_ITEM_CACHE_HIT_RATE),
    ],
)
def test_the_rate_of_hits_follows_from_the_counted_reads(
    metrics: OpenTelemetryMetrics, reader: InMemoryMetricReader, reads: catalogue.Metric, rate_of_hits: catalogue.Metric
) -> None:
    for result in ("hit", "hit", "miss", "hit"):
        metrics.record(reads, 1, result=result)

    (rate,) = points(reader, rate_of_hits)
    counted = {point.attributes["result"]: point.value for point in points(reader, reads)}
    assert rate.value == 75
    assert counted == {"hit": 3, "miss": 1}


def test_a_counter_of_accidents_is_zero_from_the_start_so_that_the_first_ones_are_seen(
    metrics: OpenTelemetryMetrics, reader: InMemoryMetricReader
) -> None:
    (before,) = points(reader, catalogue.DEAD_LETTERS)

    metrics.record(catalogue.DEAD_LETTERS, 1)

    (after,) = points(reader, catalogue.DEAD_LETTERS)
    assert (before.value, after.value) == (0, 1)


def test_many_threads_may_record_and_render_at_once() -> None:
    page = PrometheusPage()

    def use(_: int) -> bytes:
        for _ in range(500):
            page.metrics.record(SESSION_CACHE_READS, 1, result="hit")
        return page.render()

    with ThreadPoolExecutor(8) as threads:
        pages = list(threads.map(use, range(16)))

    assert all(b"memory_session_cache_hit_rate 100.0" in text for text in pages)
    assert b'memory_session_cache_reads_total{result="hit"} 8000.0' in page.render()


async def test_the_span_of_a_call_tells_the_engine_and_the_operation_and_nothing_of_the_user(
    table: ItemTable, spans: InMemorySpanExporter
) -> None:
    await table.put(Put(KEY, {"text": SECRET}))
    with pytest.raises(ConflictError):
        await table.put(Put(KEY, {"text": SECRET}, expected_version=7))

    first, second = spans.get_finished_spans()
    about = {"db.system.name": "sqlite", "db.operation.name": "put"}
    assert (first.name, first.kind, dict(first.attributes or {})) == ("put sqlite", SpanKind.CLIENT, about)
    assert dict(second.attributes or {}) == {**about, "error.type": "ConflictError"}
    assert (second.events, second.status.description) == ((), None)


def methods(port: type) -> dict[str, Callable[..., Any]]:
    return {name: method for name, method in vars(port).items() if callable(method) and not name.startswith("_")}


@pytest.mark.parametrize(
    ("measured", "port"),
    [
        (MeasuredItemTable, ItemTable),
        (MeasuredSessionCache, SessionCache),
        (MeasuredSessionDeadlines, SessionDeadlines),
    ],
)
def test_whoever_measures_answers_every_method_of_the_port_with_its_signature(measured: type, port: type) -> None:
    asked = {name: inspect.signature(method) for name, method in methods(port).items()}

    assert {name: inspect.signature(method) for name, method in methods(measured).items()} == asked


def test_every_measure_is_listed_once() -> None:
    defined = [value for value in vars(catalogue).values() if isinstance(value, Metric)]

    assert sorted(METRICS, key=lambda metric: metric.name) == sorted(defined, key=lambda metric: metric.name)
    assert len({metric.name for metric in METRICS}) == len(METRICS)


def test_a_limit_on_a_percentile_is_a_bound_of_a_bucket_so_that_the_alarm_is_exact() -> None:
    alerts = [(metric.alert, metric.buckets) for metric in METRICS if metric.alert is not None]

    assert [alert for alert, buckets in alerts if alert.figure == "p95" and alert.limit not in buckets] == []


def test_the_histograms_have_the_buckets_that_were_asked_for(
    metrics: OpenTelemetryMetrics, reader: InMemoryMetricReader
) -> None:
    histograms = [metric for metric in METRICS if metric.kind is Kind.HISTOGRAM]
    for metric in histograms:
        metrics.record(metric, 1)

    assert [points(reader, metric)[0].explicit_bounds for metric in histograms] == [
        metric.buckets for metric in histograms
    ]
