"""Spans of memory operations, named by the conventions of OpenTelemetry for generative AI.

The SDK makes a span for every request; these are its children and describe the operation on the memory. They hold no
text, no id and no user. Without tracing they cost a few microseconds.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode, get_tracer

from mcp_memory_server.version import __version__

OPERATIONS = {
    "recall": "search_memory",
    "load_context": "search_memory",
    "remember_fact": "upsert_memory",
    "set_preference": "upsert_memory",
    "forget": "delete_memory",
}

_tracer = get_tracer("mcp_memory_server", __version__)


@contextmanager
def memory_span(tool: str) -> Generator[Span]:
    """Run a tool within the span of its memory operation. Tools without an operation get no span."""
    operation = OPERATIONS.get(tool)
    if operation is None:
        yield INVALID_SPAN
        return
    with _tracer.start_as_current_span(
        operation,
        kind=SpanKind.INTERNAL,
        attributes={"gen_ai.operation.name": operation},
        # Without the text of the exception, which may quote a memory.
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as error:
            span.set_attribute("error.type", type(error).__name__)
            span.set_status(StatusCode.ERROR)
            raise


def describe_reply(span: Span, reply: Mapping[str, Any]) -> None:
    """Set the status of the reply and its number of memories on the span."""
    if not span.is_recording():
        return
    span.set_attribute("memory.status", str(reply.get("status", "")))
    if "memories" in reply:
        span.set_attribute("gen_ai.memory.record.count", len(reply["memories"]))
    elif "removed" in reply:
        span.set_attribute("gen_ai.memory.record.count", int(reply["removed"]))
