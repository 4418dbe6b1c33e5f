"""Metrics: the sink of measurements."""

from typing import Protocol

from mcp_memory_server.ports.metric_catalogue import Metric


class Metrics(Protocol):
    """Records measurements. It is cheap, never raises, and may be called from any thread."""

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        """Record a value: an observation of a histogram, an increment of a counter, or the newest value of a gauge.

        Labels are names of operations, engines and results; never an id, never a text.
        """
        ...


class NoMetrics:
    """Records nothing; used when no metrics are configured."""

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        """See the port."""
