"""Spans of memory operations, named by the conventions of OpenTelemetry for generative AI.

A request has one span, and the operation on the memory another one below it. They hold no text, no id and no user.
Without tracing they cost a few microseconds.
"""

from collections.abc import Collection, Generator, Mapping
from contextlib import contextmanager
from typing import Any

from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode, get_current_span, get_tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from mcp_memory_server.version import __version__

OPERATIONS = {
    "recall": "search_memory",
    "load_context": "search_memory",
    "remember_fact": "upsert_memory",
    "set_preference": "upsert_memory",
    "forget": "delete_memory",
}

METHODS = frozenset(
    {
        *("initialize", "ping", "server/discover", "notifications/initialized", "notifications/cancelled"),
        *("tools/list", "tools/call", "prompts/list", "prompts/get"),
        *("resources/list", "resources/templates/list", "resources/read"),
    }
)
"""The names that a span of a request may have. A caller can send any other, and could fill a trace store with them."""
UNKNOWN = "unknown"

_tracer = get_tracer("mcp_memory_server", __version__)
_request_tracer = get_tracer("mcp_memory_server.requests", __version__)


class RequestSpans:
    """Make a span for every request, in place of the SDK's: without a word that the caller chose."""

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """See `mcp.server.context.ServerMiddleware`."""
        method = ctx.method if ctx.method in METHODS else UNKNOWN
        attributes, name = {"mcp.method.name": method}, method
        if method == "tools/call":
            asked = (ctx.params or {}).get("name")
            tool = asked if asked in self._tools else UNKNOWN
            name = f"{method} {tool}"
            attributes |= {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
        with _request_tracer.start_as_current_span(
            name,
            context=_caller_of(ctx.meta),
            kind=SpanKind.SERVER,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                result = await call_next(ctx)
            except BaseException as error:
                code = str(error.code) if isinstance(error, MCPError) else type(error).__name__
                span.set_attribute("error.type", code)
                span.set_status(StatusCode.ERROR)
                raise
            if isinstance(result, CallToolResult) and result.is_error:
                span.set_attribute("error.type", "tool_error")
                span.set_status(StatusCode.ERROR)
            return result


def _caller_of(meta: Mapping[str, Any] | None) -> Context | None:
    """Return the span of the caller, from its ``traceparent``. Anything else that it sends along is dropped."""
    parent = (meta or {}).get("traceparent")
    if not isinstance(parent, str):
        return None
    context = TraceContextTextMapPropagator().extract({"traceparent": parent})
    return context if get_current_span(context).get_span_context().is_valid else None


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
