"""A program with the SDK of OpenTelemetry, an agent of Strands and a squad; it prints its spans and metrics as JSON."""

import asyncio
import json
import sys
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from strands import Agent, tool

from agent_plugins import BreakerRules, Tool
from agent_plugins.strands import MemoryPlugin
from examples.scripted_model import ScriptedModel, call
from mcp_memory_server import Settings

SECRET = "Ana lives in Lisbon."


@tool
def search(title: str) -> str:
    """Search the catalogue."""
    raise ConnectionError(SECRET)


def run_agent(table: str) -> None:
    searches = [call("search", title=f"Book {number}") for number in range(3)]
    script = (call("remember_fact", fact=SECRET), call("recall", query="Lisbon"), *searches, "Sorry.")
    broken = Tool("search", rules=BreakerRules(threshold=2))
    with MemoryPlugin("ana", "s1", memory=Settings(table=table), tools=[broken]) as plugin:
        agent = Agent(
            model=ScriptedModel(*script), plugins=[plugin], tools=[search], name="clerk", callback_handler=None
        )
        agent("Where does Ana live?")


async def run_squad(table: str) -> None:
    from agent_plugins.agent_squad import MemorySquad
    from tests.plugins.agent_squad.conftest import ByName, Clerk

    squad = MemorySquad(classifier=ByName(), memory=Settings(table=table))
    squad.add_agent(Clerk("orders", lambda _: "Sent."))
    await squad.route_request("orders: where is it?", "ana", "s2")
    await asyncio.to_thread(squad.close)


def described(spans: Any) -> list[dict[str, Any]]:
    names = {each.context.span_id: each.name for each in spans}
    return [
        {
            "name": each.name,
            "within": names.get(each.parent.span_id) if each.parent else None,
            "trace": each.context.trace_id,
            "attributes": dict(each.attributes),
            "scope": each.instrumentation_scope.name,
        }
        for each in spans
    ]


def measured(reader: InMemoryMetricReader) -> list[dict[str, Any]]:
    data = reader.get_metrics_data()
    assert data is not None
    return [
        {
            "name": metric.name,
            "labels": dict(point.attributes or {}),
            "value": getattr(point, "value", None),
            "count": getattr(point, "count", None),
            "sum": getattr(point, "sum", None),
        }
        for resource in data.resource_metrics
        for scope in resource.scope_metrics
        if scope.scope.name == "agent_plugins"
        for metric in scope.metrics
        for point in metric.data.data_points
    ]


if __name__ == "__main__":
    exporter, reader, provider = InMemorySpanExporter(), InMemoryMetricReader(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    run_agent(sys.argv[1])
    of_agent = described(exporter.get_finished_spans())
    asyncio.run(run_squad(sys.argv[1]))
    print(json.dumps({"spans": of_agent, "metrics": measured(reader)}))
