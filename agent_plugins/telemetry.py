"""Spans and metrics of agents, through the API of OpenTelemetry. Without its SDK they are discarded at almost no cost.

Spans of an agent of Strands are in its own trace. They hold no text, no argument, no session and no user.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import cast

from opentelemetry import metrics, trace
from opentelemetry.context import Context, get_current
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, StatusCode

from mcp_memory_server import __version__, count_tokens

__all__ = [
    "METERS",
    "Context",
    "Meter",
    "circuit_changed",
    "count_call",
    "get_current",
    "injection",
    "refused_call",
    "span",
    "status_of",
]

SCOPE = "agent_plugins"
TOKEN_BUCKETS = (0, 50, 100, 150, 200, 300, 400, 600, 800, 1_200, 2_000)


@dataclass(frozen=True)
class Meter:
    """One metric: its kind (counter, gauge or histogram), unit, labels, and what its values mean."""

    name: str
    kind: str
    unit: str
    description: str
    labels: tuple[str, ...]


TOOL_CALLS = Meter(
    "agents.tool_calls",
    "counter",
    "call",
    "Calls of tools by how they ended; a refused one was not made: a circuit was open, or it was a loop.",
    ("tool", "owner", "result"),
)
CIRCUIT_STATE = Meter(
    "agents.circuit_state",
    "gauge",
    "state",
    "Whether a circuit is closed (0), half-open (1) or open (2), since it was first not closed.",
    ("circuit",),
)
CIRCUIT_OPENINGS = Meter(
    "agents.circuit_openings", "counter", "opening", "How often a circuit opened that was closed.", ("circuit",)
)
INJECTED_TOKENS = Meter(
    "agents.injected_tokens",
    "histogram",
    "token",
    "Tokens of memory and shared state that were added to a call of the model.",
    ("agent",),
)
METERS = (TOOL_CALLS, CIRCUIT_STATE, CIRCUIT_OPENINGS, INJECTED_TOKENS)

_tracer = trace.get_tracer(SCOPE, __version__)
_meter = metrics.get_meter(SCOPE, __version__)
_calls = _meter.create_counter(TOOL_CALLS.name, description=TOOL_CALLS.description)
_openings = _meter.create_counter(CIRCUIT_OPENINGS.name, description=CIRCUIT_OPENINGS.description)
_states = _meter.create_gauge(CIRCUIT_STATE.name, description=CIRCUIT_STATE.description)
_tokens = _meter.create_histogram(
    INJECTED_TOKENS.name,
    description=INJECTED_TOKENS.description,
    explicit_bucket_boundaries_advisory=[float(bound) for bound in TOKEN_BUCKETS],
)


@contextmanager
def span(name: str, *, within: Context | None = None, **attributes: str | int | bool) -> Generator[Span]:
    """Run the block in a span. ``within`` is the context that it belongs to, if not the current one.

    ``__`` in a name of an attribute stands for a dot.
    """
    if _discards(trace.get_tracer_provider()):
        yield INVALID_SPAN
        return
    known = {key.replace("__", "."): value for key, value in attributes.items()}
    with _tracer.start_as_current_span(
        name,
        within,
        kind=SpanKind.INTERNAL,
        attributes=known,
        # Without the text of the exception, which may quote a memory.
        record_exception=False,
        set_status_on_exception=False,
    ) as made:
        try:
            yield made
        except BaseException as error:
            made.set_attribute("error.type", type(error).__name__)
            made.set_status(StatusCode.ERROR)
            raise


def status_of(answer: object) -> str | None:
    """Return the status in what the memory returned, also in the reply of a tool; None if it has none."""
    status: object = getattr(answer, "status", None)
    if isinstance(answer, Mapping):
        status = cast("Mapping[str, object]", answer).get("status")
    return str(status) if isinstance(status, str) else None


@contextmanager
def injection(agent: str) -> Generator["Injection"]:
    """Run the making of a prompt block in a span, and record how long the block is."""
    with span("memory.inject", gen_ai__operation__name="memory.inject") as made:
        injected = Injection()
        yield injected
        if not made.is_recording() and _discards(metrics.get_meter_provider()):
            return
        tokens = injected.tokens
        made.set_attribute("memory.injected", tokens > 0)
        made.set_attribute("memory.injected_tokens", tokens)
        _tokens.record(tokens, {"agent": agent})


@dataclass
class Injection:
    """What was added to a call of the model."""

    texts: list[str] = field(default_factory=list[str])

    @property
    def tokens(self) -> int:
        """How many tokens were added. Counting takes time, so this is asked only if somebody records it."""
        return sum(map(count_tokens, self.texts))

    def add(self, text: str) -> str:
        """Note a text that is added, and return it."""
        if text:
            self.texts.append(text)
        return text


def refused_call(tool: str, call: str = "", *, reason: str, owner: str | None = None, retry_after: float = 0.0) -> None:
    """Record a call of a tool that was not made: a framework has a span for those only that were."""
    with span(f"execute_tool {tool}", gen_ai__operation__name="execute_tool", gen_ai__tool__name=tool) as made:
        if call:
            made.set_attribute("gen_ai.tool.call.id", call)
        made.set_attribute("error.type", reason)
        made.set_attribute("agents.retry_after_seconds", round(retry_after, 1))
        made.set_status(StatusCode.ERROR)
    count_call(tool, owner, "refused")


def count_call(tool: str, owner: str | None, result: str) -> None:
    """Count a call of a tool that has ended."""
    _calls.add(1, {"tool": tool, "owner": owner or "", "result": result})


def _discards(provider: object) -> bool:
    """Return whether nobody has set up an SDK: the providers of the API itself discard everything."""
    return type(provider).__module__.startswith(("opentelemetry.trace", "opentelemetry.metrics"))


def circuit_changed(circuit: str, state: int, *, opened: bool) -> None:
    """Record the state of a circuit."""
    _states.set(state, {"circuit": circuit})
    if opened:
        _openings.add(1, {"circuit": circuit})
