"""Metrics as instruments of OpenTelemetry."""

import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

from opentelemetry.metrics import Meter, MeterProvider, get_meter_provider

from mcp_memory_server.adapters.opentelemetry.hit_rates import RecentReads
from mcp_memory_server.ports.metric_catalogue import (
    DAX_ITEM_CACHE_HIT_RATE,
    DAX_ITEM_CACHE_READS,
    METRICS,
    SESSION_CACHE_HIT_RATE,
    SESSION_CACHE_READS,
    Kind,
    Metric,
)
from mcp_memory_server.version import __version__

SCOPE = "mcp_memory_server"
_RATES = {SESSION_CACHE_READS.name: SESSION_CACHE_HIT_RATE, DAX_ITEM_CACHE_READS.name: DAX_ITEM_CACHE_HIT_RATE}

Recorder: TypeAlias = Callable[[float, Mapping[str, str]], None]


class OpenTelemetryMetrics:
    """Answers the metrics port with one instrument for each metric. Hit rates follow from counted reads."""

    def __init__(self, provider: MeterProvider, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._recent_reads = {name: RecentReads() for name in _RATES}
        meter = provider.get_meter(SCOPE, __version__)
        self._recorders = {metric.name: _recorder(meter, metric) for metric in METRICS}
        for metric in METRICS:
            if metric.kind is Kind.COUNTER and not metric.labels:
                # rate() needs two values: without this zero, the first burst would be missed.
                self.record(metric, 0)

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        """See the port."""
        self._recorders[metric.name](value, labels)
        if metric.name in _RATES:
            reads = self._recent_reads[metric.name]
            rate = reads.add(hit=labels.get("result") == "hit", seconds=self._clock())
            self._recorders[_RATES[metric.name].name](rate, {})


def open_metrics() -> OpenTelemetryMetrics:
    """Return metrics for the SDK of this process; without one they are discarded."""
    return OpenTelemetryMetrics(get_meter_provider())


def _recorder(meter: Meter, metric: Metric) -> Recorder:
    # Without the unit: exporters to Prometheus would append it to a name that has it already.
    match metric.kind:
        case Kind.HISTOGRAM:
            bounds = [float(bound) for bound in metric.buckets]
            return meter.create_histogram(
                metric.name, description=metric.description, explicit_bucket_boundaries_advisory=bounds
            ).record
        case Kind.COUNTER:
            return meter.create_counter(metric.name, description=metric.description).add
        case Kind.GAUGE:
            return meter.create_gauge(metric.name, description=metric.description).set
