"""Choosing where measurements go."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

from mcp_memory_server.addresses import DaxTable, DynamoDbTable, SqliteTable, parse_table
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring.packages import missing_package
from mcp_memory_server.wiring.session_backends import SessionBackends

_ENGINES = {SqliteTable: "sqlite", DynamoDbTable: "dynamodb", DaxTable: "dax"}


@dataclass(frozen=True)
class MetricsPage:
    """Where measurements go, and what shows them. Showing them takes some milliseconds: call it in a thread."""

    metrics: Metrics
    render: Callable[[], bytes]


def open_metrics_page() -> MetricsPage:
    """Return a page that Prometheus reads.

    Raises:
        ConfigurationError: The packages for it are not installed.
    """
    try:
        # Imported here: it loads an SDK that nobody else needs.
        from mcp_memory_server.adapters.opentelemetry.prometheus_page import PrometheusPage
    except ModuleNotFoundError as error:
        raise missing_package("metrics", error) from error
    page = PrometheusPage()
    return MetricsPage(page.metrics, page.render)


def open_metrics() -> Metrics:
    """Return metrics for `open_memory` that go to the OpenTelemetry SDK of this process.

    Raises:
        ConfigurationError: The packages for it are not installed.
    """
    try:
        from mcp_memory_server.adapters.opentelemetry import metrics
    except ModuleNotFoundError as error:
        raise missing_package("metrics", error) from error
    return metrics.open_metrics()


def metrics_of_this_process() -> Metrics | None:
    """Return metrics that go to the OpenTelemetry SDK of this process; None if it has none."""
    if "opentelemetry.sdk" not in sys.modules:
        return None  # without loading OpenTelemetry
    return open_metrics()


def measured_table(settings: Settings, table: ItemTable, metrics: Metrics) -> ItemTable:
    """Return the table, with every call to it measured."""
    from mcp_memory_server.adapters.opentelemetry.item_table import MeasuredItemTable

    return MeasuredItemTable(table, metrics, engine=_ENGINES[type(parse_table(settings.table))])


def measured_sessions(beside: SessionBackends, metrics: Metrics) -> SessionBackends:
    """Return what lies beside the table, with every call to the stores of sessions measured."""
    from mcp_memory_server.adapters.opentelemetry.session_stores import (
        MeasuredSessionCache,
        MeasuredSessionDeadlines,
        SessionCalls,
    )

    calls = SessionCalls(metrics, engine="redis")
    return replace(
        beside,
        cache=beside.cache and MeasuredSessionCache(beside.cache, calls),
        deadlines=beside.deadlines and MeasuredSessionDeadlines(beside.deadlines, calls),
    )
