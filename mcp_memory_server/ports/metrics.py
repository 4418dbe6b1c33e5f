"""Metrics: where measurements go."""

from typing import Protocol

from mcp_memory_server.ports.measures import Measure


class Metrics(Protocol):
    """Takes measurements. It is cheap, never raises, and may be called from any thread."""

    def record(self, measure: Measure, value: float, **labels: str) -> None:
        """Note a value: one more of a histogram, so many more of a counter, the newest of a gauge.

        Labels are names of operations, engines and results; never an id, never a text.
        """
        ...


class NoMetrics:
    """Measures nothing, where nobody asked for it."""

    def record(self, measure: Measure, value: float, **labels: str) -> None:
        """See the port."""
