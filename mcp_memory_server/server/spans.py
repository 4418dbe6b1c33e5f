"""Spans of memory operations, named by the conventions of OpenTelemetry for generative AI.

The SDK makes a span of every request already; these are its children, and say what was done to the memory. No text, no
id and no user is in them. Where no tracing was set up they cost a few microseconds.
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
    """Run one tool within the span of its memory operation. A tool that has none gets no span."""
    operation = OPERATIONS.get(tool)
    if operation is None:
        yield INVALID_SPAN
        return
    with _tracer.start_as_current_span(
        operation,
        kind=SpanKind.INTERNAL,
        attributes={"gen_ai.operation.name": operation},
        # Its text may quote what somebody said: the kind of error is enough.
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
    """Tell how complete the reply is, and how many memories it is about."""
    if not span.is_recording():
        return
    span.set_attribute("memory.status", str(reply.get("status", "")))
    if "memories" in reply:
        span.set_attribute("gen_ai.memory.record.count", len(reply["memories"]))
    elif "removed" in reply:
        span.set_attribute("gen_ai.memory.record.count", int(reply["removed"]))
