"""A registry knows every tool, its circuit and its calls, and says what else could be tried."""

import json
import threading
from collections.abc import Callable

import pytest

from agent_plugins.breakers.circuit_rules import BreakerRules
from agent_plugins.breakers.failures import FailedCall
from agent_plugins.breakers.invocations import Invocation, Outcome
from agent_plugins.breakers.tool_registry import Refusal, Tool, ToolRegistry
from mcp_memory_server import InvalidRequestError
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


def test_tools_of_one_name_and_two_owners_are_two_circuits(registry: ToolRegistry) -> None:
    for _ in range(2):
        call = registry.begin("find", owner="shop")
        assert isinstance(call, Invocation)
        call.failed("no connection")

    assert isinstance(registry.begin("find", owner="shop"), Refusal)
    assert isinstance(registry.begin("find", owner="library"), Invocation)
    shown = registry.status()["tools"]["find"]
    assert (shown["health"], shown["circuit"]["state"]) == ("unavailable", "open")
    assert {owner: each["health"] for owner, each in shown["owners"].items()} == {
        "shop": "unavailable",
        "library": "healthy",
    }


def test_a_description_without_an_owner_is_for_all_and_that_of_an_owner_goes_first() -> None:
    general, own = Tool("find", timeout=5), Tool("find", timeout=9, owner="shop")
    registry = ToolRegistry([general, own])

    limits = [registry.tool("find", owner).timeout for owner in ("library", "shop")]
    registry.register(Tool("find", timeout=7))

    assert limits == [5, 9]
    assert [registry.tool("find", owner).timeout for owner in ("library", "shop")] == [7, 9]


def test_tools_with_the_same_service_behind_them_can_share_a_circuit(monotonic: FakeMonotonic) -> None:
    tools = [Tool("find", circuit="catalogue"), Tool("count", circuit="catalogue")]
    registry = ToolRegistry(tools, rules=BreakerRules(threshold=2), monotonic=monotonic)
    for name, owner in (("find", "shop"), ("count", "library")):
        call = registry.begin(name, owner=owner)
        assert isinstance(call, Invocation)
        call.failed("no connection")

    assert isinstance(registry.begin("find", owner="anybody"), Refusal)


def test_is_failure_gets_the_owner_of_the_tool() -> None:
    told = list[FailedCall]()
    rules = BreakerRules(is_failure=lambda call: bool(told.append(call)))
    call = ToolRegistry(rules=rules).begin("find", owner="shop")
    assert isinstance(call, Invocation)

    call.raised(ConnectionError("gone"), "gone")

    assert [(failed.tool, failed.owner) for failed in told] == [("find", "shop")]


def test_an_alternative_that_another_owner_has_is_offered_while_it_works() -> None:
    registry = ToolRegistry([Tool("find", alternatives=["shelf"])], rules=BreakerRules(threshold=1))
    for name, owner in (("find", "shop"), ("shelf", "library")):
        call = registry.begin(name, owner=owner)
        assert isinstance(call, Invocation)
        call.failed("no connection") if name == "find" else call.succeeded()

    refusal = registry.begin("find", owner="shop")
    assert isinstance(refusal, Refusal)
    assert refusal.alternatives == ("shelf",)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: Tool(7),  # type: ignore[arg-type]
        lambda: Tool("find", timeout="5"),  # type: ignore[arg-type]
        lambda: Tool("find", alternatives="shelf"),
        lambda: Tool("find", rules=5),  # type: ignore[arg-type]
        lambda: BreakerRules("5"),  # type: ignore[arg-type]
        lambda: BreakerRules(rest="30"),  # type: ignore[arg-type]
        lambda: ToolRegistry(["search"]),  # type: ignore[list-item]
        lambda: ToolRegistry(rules=5),  # type: ignore[arg-type]
    ],
)
def test_arguments_of_a_wrong_type_are_refused_in_one_line_that_shows_a_right_one(wrong: Callable[[], object]) -> None:
    with pytest.raises(InvalidRequestError, match=r"must be .+, got ") as refused:
        wrong()

    assert "\n" not in str(refused.value)
