"""The metrics of this process as a page for Prometheus."""

import threading

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from prometheus_client import CollectorRegistry, generate_latest

from mcp_memory_server.adapters.opentelemetry.metrics import OpenTelemetryMetrics
from mcp_memory_server.version import __version__


class PrometheusPage:
    """Records and renders metrics, in a registry of its own, so that nothing else of the process is on the page."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._one_at_a_time = threading.Lock()
        reader = PrometheusMetricReader(registry=self._registry, scope_info_enabled=False)
        resource = Resource.create({SERVICE_NAME: "mcp-memory-server", SERVICE_VERSION: __version__})
        provider = MeterProvider([reader], resource, shutdown_on_exit=False)
        self.metrics = OpenTelemetryMetrics(provider)

    def render(self) -> bytes:
        """Return the page as it is now. This takes some milliseconds: call it in a thread."""
        # The reader passes its data through one queue, which two renderers at once would share.
        with self._one_at_a_time:
            return generate_latest(self._registry)
