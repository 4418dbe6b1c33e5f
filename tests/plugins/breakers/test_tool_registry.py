"""A registry knows every tool, its circuit and its calls, and says what else could be tried."""

import json
import threading

import pytest

from agent_plugins.breakers.circuits import BreakerRules
from agent_plugins.breakers.invocations import Invocation, Outcome
from agent_plugins.breakers.tool_registry import Refusal, Tool, ToolRegistry
from tests.plugins.fake_monotonic import FakeMonotonic

SEARCH = Tool(
    "search",
    {"type": "object", "properties": {"query": {"type": "string"}}},
    "Search the catalogue.",
    timeout=5.0,
    fallback="cached_search",
    alternatives=("browse", "ask_librarian"),
)


@pytest.fixture
def registry(monotonic: FakeMonotonic) -> ToolRegistry:
    return ToolRegistry([SEARCH], rules=BreakerRules(threshold=2, rest=30), monotonic=monotonic)


def begun(registry: ToolRegistry, name: str) -> Invocation:
    invocation = registry.begin(name)
    assert isinstance(invocation, Invocation)
    return invocation


def break_tool(registry: ToolRegistry, name: str) -> None:
    for _ in range(2):
        begun(registry, name).failed("no connection")


def refused(registry: ToolRegistry, name: str) -> Refusal:
    refusal = registry.begin(name)
    assert isinstance(refusal, Refusal)
    return refusal


def test_a_call_under_way_is_tracked_with_its_id_and_timeout_until_it_ends(
    registry: ToolRegistry, monotonic: FakeMonotonic
) -> None:
    call = begun(registry, "search")
    monotonic.advance(2)

    (described,) = registry.status()["in_flight"]
    assert (described["id"], described["timeout"], described["seconds"], described["overdue"]) == (
        call.id,
        5.0,
        2,
        False,
    )
    call.succeeded({"books": 3})

    assert registry.status()["in_flight"] == []
    found = registry.invocations.get(call.id)
    assert found is not None
    assert (found.outcome, found.result, found.seconds) == (Outcome.SUCCEEDED, {"books": 3}, 2)


def test_a_call_past_its_timeout_is_shown_as_overdue(registry: ToolRegistry, monotonic: FakeMonotonic) -> None:
    begun(registry, "search")

    monotonic.advance(5.1)

    assert [call["overdue"] for call in registry.status()["in_flight"]] == [True]


def test_a_broken_tool_is_refused_with_what_else_could_be_tried(registry: ToolRegistry) -> None:
    break_tool(registry, "search")
    break_tool(registry, "browse")

    refusal = refused(registry, "search")

    assert refusal.fallback == "cached_search"
    assert refusal.to_dict() == {
        "error": "tool_unavailable",
        "tool": "search",
        "reason": "it failed too often",
        "retry_after_seconds": 30.0,
        "advice": "Use cached_search or ask_librarian instead; do not call search again yet.",
        "alternatives": ["cached_search", "ask_librarian"],
    }


def test_without_an_alternative_the_advice_is_to_go_on_without(registry: ToolRegistry) -> None:
    break_tool(registry, "pay")

    assert refused(registry, "pay").advice() == (
        "Do not call pay again yet: go on without it, or tell the user what could not be done."
    )


def test_a_fallback_that_is_broken_too_is_not_offered(registry: ToolRegistry) -> None:
    break_tool(registry, "search")
    break_tool(registry, "cached_search")

    assert refused(registry, "search").fallback is None


@pytest.mark.parametrize("end", ["succeeded", "abandoned"])
def test_calls_that_went_well_or_were_cancelled_break_nothing(registry: ToolRegistry, end: str) -> None:
    for _ in range(10):
        getattr(begun(registry, "search"), end)()

    assert registry.status()["tools"]["search"]["health"] == "healthy"


def test_a_timeout_counts_as_a_failure_and_as_a_timeout(registry: ToolRegistry) -> None:
    begun(registry, "search").timed_out()

    circuit = registry.status()["tools"]["search"]["circuit"]
    assert (circuit["failures"], circuit["timeouts"]) == (1, 1)


def test_the_status_is_one_dictionary_of_plain_data_with_schema_health_and_circuit(registry: ToolRegistry) -> None:
    status = registry.status()

    assert json.loads(json.dumps(status)) == status
    assert status["tools"]["search"]["schema"] == SEARCH.schema
    assert (status["tools"]["search"]["health"], status["tools"]["search"]["circuit"]["state"]) == ("healthy", "closed")


def test_what_a_tool_answered_is_not_in_the_status(registry: ToolRegistry) -> None:
    begun(registry, "search").succeeded("the user's address")
    begun(registry, "search")

    assert "address" not in json.dumps(registry.status())


def test_describing_a_tool_anew_keeps_its_circuit(registry: ToolRegistry) -> None:
    break_tool(registry, "search")

    registry.register(Tool("search", description="Search, better described."))

    assert isinstance(registry.begin("search"), Refusal)


@pytest.mark.anyio
async def test_async_callers_begin_calls_too(registry: ToolRegistry) -> None:
    call = await registry.begin_async("search", timeout=1.0, agent="orders")

    assert isinstance(call, Invocation)
    assert (call.timeout, call.agent) == (1.0, "orders")


def test_a_tool_that_many_threads_bring_along_has_one_breaker() -> None:
    registry, barrier = ToolRegistry(), threading.Barrier(20)

    def call() -> None:
        barrier.wait()
        begun(registry, "late").succeeded()

    threads = [threading.Thread(target=call) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert registry.status()["tools"]["late"]["circuit"]["calls"] == 20
