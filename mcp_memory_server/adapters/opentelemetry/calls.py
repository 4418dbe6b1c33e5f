"""Measures one call to an engine: latency, result and span."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from opentelemetry.trace import SpanKind, StatusCode, get_tracer

from mcp_memory_server.errors import ConflictError, InvalidRequestError, TableThrottledError, UnavailableError
from mcp_memory_server.ports.metric_catalogue import THROTTLED_CALLS, Metric
from mcp_memory_server.ports.metrics import Metrics
from mcp_memory_server.version import __version__

R = TypeVar("R")

_ENDINGS: tuple[tuple[type[BaseException], str], ...] = (
    (ConflictError, "conflict"),
    (InvalidRequestError, "refused"),
    (UnavailableError, "unavailable"),
    (asyncio.CancelledError, "cancelled"),
)
_SYSTEMS = {"dynamodb": "aws.dynamodb", "dax": "aws.dynamodb"}

_tracer = get_tracer("mcp_memory_server", __version__)


class MeasuredCalls:
    """Makes calls to one engine and measures each of them."""

    def __init__(self, metrics: Metrics, engine: str, clock: Callable[[], float] = time.perf_counter) -> None:
        self._metrics = metrics
        self._engine = engine
        self._clock = clock

    async def make(self, metric: Metric, operation: str, call: Awaitable[R]) -> R:
        """Await the call, and record its latency and how it ended. Its exception is raised again."""
        attributes = {"db.system.name": _SYSTEMS.get(self._engine, self._engine), "db.operation.name": operation}
        result, began = "ok", self._clock()
        with _tracer.start_as_current_span(
            f"{operation} {self._engine}",
            kind=SpanKind.CLIENT,
            attributes=attributes,
            # Without the text of the exception, which may quote a name.
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                return await call
            except BaseException as error:
                result = _ending(error)
                if isinstance(error, TableThrottledError):
                    self.count(THROTTLED_CALLS, 1)
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
                raise
            finally:
                milliseconds = 1000 * (self._clock() - began)
                self._metrics.record(metric, milliseconds, operation=operation, engine=self._engine, result=result)

    def count(self, metric: Metric, value: float, **labels: str) -> None:
        """Record something else about this engine."""
        self._metrics.record(metric, value, engine=self._engine, **labels)


def _ending(error: BaseException) -> str:
    return next((name for type_, name in _ENDINGS if isinstance(error, type_)), "failed")
