"""An error that is about one call does not open the circuit of a tool; failures, in a row or often, do."""

import json
from types import SimpleNamespace

import pytest

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules, CircuitState
from agent_plugins.breakers.failures import FailedCall, counts_as_failure
from agent_plugins.breakers.invocations import Invocation, Outcome
from agent_plugins.breakers.tool_registry import Refusal, Tool, ToolRegistry
from tests.plugins.fake_monotonic import FakeMonotonic

NO_ORDER = ValueError("no order 'x4'")


class HttpError(Exception):
    """An error as the HTTP clients raise it."""

    def __init__(self, status: int) -> None:
        super().__init__(str(status))
        self.response = SimpleNamespace(status_code=status)


def begun(registry: ToolRegistry, name: str = "orders") -> Invocation:
    call = registry.begin(name)
    assert isinstance(call, Invocation)
    return call


def test_errors_about_single_calls_do_not_open_the_circuit_of_a_healthy_tool(monotonic: FakeMonotonic) -> None:
    registry = ToolRegistry(monotonic=monotonic)

    for _ in range(100):
        begun(registry).raised(NO_ORDER, "no order 'x4'")

    circuit = registry.status()["tools"]["orders"]["circuit"]
    assert (circuit["state"], circuit["failures"], circuit["ignored"]) == ("closed", 0, 100)


def test_such_a_call_is_still_a_failed_call() -> None:
    registry = ToolRegistry()
    call = begun(registry)

    call.raised(NO_ORDER)

    assert (call.outcome, call.error) == (Outcome.FAILED, "ValueError")


@pytest.mark.parametrize(
    ("error", "counts"),
    [
        (NO_ORDER, False),
        (KeyError("x4"), False),
        (HttpError(404), False),
        (HttpError(422), False),
        (HttpError(429), True),
        (HttpError(401), True),
        (HttpError(503), True),
        (ConnectionError("refused"), True),
        (TimeoutError(), True),
        (TypeError("a bug"), True),
        (json.JSONDecodeError("no JSON", "<html>", 0), True),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid"), True),
        (None, True),
    ],
)
def test_by_default_errors_about_the_arguments_do_not_count(error: Exception | None, counts: bool) -> None:  # noqa: FBT001
    assert counts_as_failure(FailedCall("orders", error)) is counts


def test_the_developer_decides_what_counts_also_by_the_text_of_an_answer() -> None:
    def is_failure(call: FailedCall) -> bool:
        return "not found" not in call.text

    registry = ToolRegistry([Tool("orders", rules=BreakerRules(threshold=1, is_failure=is_failure))])

    begun(registry).raised(None, "order x4 not found")
    assert registry.status()["tools"]["orders"]["health"] == "healthy"

    begun(registry).raised(None, "the database is closed")
    assert isinstance(registry.begin("orders"), Refusal)


def test_a_decision_that_raises_counts_as_a_failure_and_does_not_stop_the_call() -> None:
    def is_failure(call: FailedCall) -> bool:
        raise ZeroDivisionError

    registry = ToolRegistry([Tool("orders", rules=BreakerRules(threshold=1, is_failure=is_failure))])

    begun(registry).raised(NO_ORDER)

    assert isinstance(registry.begin("orders"), Refusal)


def test_a_probe_that_says_nothing_about_the_tool_leaves_the_slot_to_the_next_call(
    breaker: CircuitBreaker, monotonic: FakeMonotonic
) -> None:
    for _ in range(breaker.rules.threshold):
        breaker.ask().failed()
    monotonic.advance(breaker.rules.rest)

    breaker.ask().raised(FailedCall("search", NO_ORDER))

    assert breaker.status().state is CircuitState.HALF_OPEN
    assert breaker.ask().is_probe


def test_the_circuit_of_a_tool_that_fails_every_second_time_opens(breaker: CircuitBreaker) -> None:
    calls = 0
    while (permit := breaker.ask()).allowed:
        calls += 1
        permit.failed() if calls % 2 else permit.succeeded()

    assert calls == breaker.rules.results


def test_the_circuit_of_a_tool_that_fails_now_and_then_stays_closed(breaker: CircuitBreaker) -> None:
    for number in range(200):
        permit = breaker.ask()
        permit.failed() if number % 5 == 0 else permit.succeeded()

    status = breaker.status()
    assert (status.state, status.failure_rate, status.health) == (CircuitState.CLOSED, 0.2, "healthy")


def test_failures_of_long_ago_are_not_counted_with_those_of_now(
    breaker: CircuitBreaker, monotonic: FakeMonotonic
) -> None:
    for number in range(200):
        monotonic.advance(breaker.rules.window / (breaker.rules.results - 2))
        permit = breaker.ask()
        permit.failed() if number % 2 else permit.succeeded()

    assert breaker.status().state is CircuitState.CLOSED
