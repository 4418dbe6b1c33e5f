"""Spans of the five tools: what was done to the memory, without a word of what is in it."""

from collections.abc import Iterator
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind

from mcp_memory_server import MEMORY_TOOLS, Memory
from mcp_memory_server.server import spans
from mcp_memory_server.server.app import build_server
from mcp_memory_server.server.identity import always
from tests.server.asking import ANA, LISBON, ask, be_refused

pytestmark = pytest.mark.anyio


@pytest.fixture
def finished(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans, "_tracer", provider.get_tracer("tests"))
    yield exporter
    provider.shutdown()


def told(span: ReadableSpan) -> dict[str, Any]:
    assert span.kind is SpanKind.INTERNAL
    assert span.name == (span.attributes or {})["gen_ai.operation.name"]
    return dict(span.attributes or {})


async def test_each_tool_is_a_memory_operation_by_its_conventional_name(
    memory: Memory, finished: InMemorySpanExporter
) -> None:
    async with Client(build_server(memory, always(ANA))) as client:
        learned = await ask(client, "remember_fact", **LISBON)
        await ask(client, "set_preference", key="tone", value="brief")
        await ask(client, "load_context")
        await ask(client, "recall", query="Lisbon")
        await ask(client, "forget", id=learned["id"])

    complete = {"memory.status": "complete"}
    assert [told(span) for span in finished.get_finished_spans()] == [
        {"gen_ai.operation.name": "upsert_memory", **complete},
        {"gen_ai.operation.name": "upsert_memory", **complete},
        {"gen_ai.operation.name": "search_memory", **complete},
        {"gen_ai.operation.name": "search_memory", "gen_ai.memory.record.count": 2, **complete},
        {"gen_ai.operation.name": "delete_memory", "gen_ai.memory.record.count": 1, **complete},
    ]


async def test_a_failure_tells_its_kind_and_not_its_words(memory: Memory, finished: InMemorySpanExporter) -> None:
    async with Client(build_server(memory, always(ANA))) as client:
        await be_refused(client, "forget", {"id": "a secret that is no id"})

    (span,) = finished.get_finished_spans()
    error = told(span)["error.type"]
    assert error in ("NotFoundError", "InvalidRequestError")
    assert "secret" not in span.to_json()
    assert not span.status.is_ok


def test_every_one_of_the_five_tools_has_an_operation() -> None:
    assert spans.OPERATIONS.keys() == {tool.name for tool in MEMORY_TOOLS}


async def test_the_span_of_a_request_has_only_known_names(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(spans, "_request_tracer", provider.get_tracer("tests"))
    chosen = "chosen by the caller"

    async with Client(build_server(memory, always(ANA))) as client:
        await ask(client, "recall", query=chosen)
        await be_refused(client, "forget", {"id": chosen})
        with pytest.raises(MCPError):
            await client.call_tool(chosen, {})
        with pytest.raises(MCPError):
            await client.get_prompt(chosen)
        with pytest.raises(MCPError):
            await client.read_resource(f"memory://{chosen}")

    finished = exporter.get_finished_spans()
    names = [span.name for span in finished if span.name.startswith(("tools/call", "prompts", "resources/read"))]
    assert names == ["tools/call recall", "tools/call forget", "tools/call unknown", "prompts/get", "resources/read"]
    assert [span.name for span in finished if "chosen" in span.to_json()] == []
    assert {span.kind for span in finished} == {SpanKind.SERVER}
    provider.shutdown()
