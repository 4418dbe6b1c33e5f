"""Metrics as instruments of OpenTelemetry."""

import time
from collections.abc import Callable, Mapping
from typing import TypeAlias

from opentelemetry.metrics import Meter, MeterProvider, get_meter_provider

from mcp_memory_server.adapters.opentelemetry.hit_rates import RecentReads
from mcp_memory_server.ports.measures import (
    CACHE_HIT_RATE,
    DAX_CACHE_HIT_RATE,
    DAX_ITEM_READS,
    MEASURES,
    SESSION_CACHE_READS,
    Kind,
    Measure,
)
from mcp_memory_server.version import __version__

SCOPE = "mcp_memory_server"
_RATES = {SESSION_CACHE_READS.name: CACHE_HIT_RATE, DAX_ITEM_READS.name: DAX_CACHE_HIT_RATE}

Recorder: TypeAlias = Callable[[float, Mapping[str, str]], None]


class OpenTelemetryMetrics:
    """Answers the metrics port with one instrument for each measure. The rate of hits follows from counted reads."""

    def __init__(self, provider: MeterProvider, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._recent_reads = {name: RecentReads() for name in _RATES}
        meter = provider.get_meter(SCOPE, __version__)
        self._recorders = {measure.name: _recorder(meter, measure) for measure in MEASURES}
        for measure in MEASURES:
            if measure.kind is Kind.COUNTER and not measure.labels:
                # A rate is seen from the second value on: without this, the first burst would be missed.
                self.record(measure, 0)

    def record(self, measure: Measure, value: float, **labels: str) -> None:
        """See the port."""
        self._recorders[measure.name](value, labels)
        if measure.name in _RATES:
            reads = self._recent_reads[measure.name]
            rate = reads.add(hit=labels.get("result") == "hit", seconds=self._clock())
            self._recorders[_RATES[measure.name].name](rate, {})


def open_metrics() -> OpenTelemetryMetrics:
    """Return metrics that go wherever this process sends them: nowhere, unless an SDK was set up."""
    return OpenTelemetryMetrics(get_meter_provider())


def _recorder(meter: Meter, measure: Measure) -> Recorder:
    # Without the unit: exporters to Prometheus append it to the name, which says it already.
    match measure.kind:
        case Kind.HISTOGRAM:
            bounds = [float(bound) for bound in measure.buckets]
            return meter.create_histogram(
                measure.name, description=measure.description, explicit_bucket_boundaries_advisory=bounds
            ).record
        case Kind.COUNTER:
            return meter.create_counter(measure.name, description=measure.description).add
        case Kind.GAUGE:
            return meter.create_gauge(measure.name, description=measure.description).set
