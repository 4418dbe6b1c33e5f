"""The sink for measurements."""

from typing import Protocol

from mcp_memory_server.ports.metric_catalogue import Metric


class Metrics(Protocol):
    """Takes measurements. It is cheap, never raises, and may be called from any thread."""

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        """Record a value: an observation of a histogram, an increment of a counter, the newest value of a gauge.

        Labels are names of operations, engines and results; never an id, never a text.
        """
        ...


class NoMetrics:
    """Discards every measurement, for processes that export none."""

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        """See the port."""
