"""A breaker leaves a tool alone that fails, and tries it again with one call at a time."""

import asyncio
from concurrent import futures

import pytest

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules, CircuitOpenError, CircuitState, Health
from mcp_memory_server import InvalidRequestError
from tests.plugins.breakers.conftest import RULES
from tests.plugins.fake_monotonic import FakeMonotonic


def fail(breaker: CircuitBreaker, times: int = RULES.threshold) -> None:
    for _ in range(times):
        breaker.ask().failed()


def test_the_circuit_opens_with_the_fifth_failure_in_a_row_and_not_before(breaker: CircuitBreaker) -> None:
    fail(breaker, 4)
    assert breaker.ask().allowed

    fail(breaker, 1)

    refused = breaker.ask()
    assert (refused.allowed, refused.retry_after) == (False, RULES.rest)


def test_a_success_ends_the_row_of_failures(breaker: CircuitBreaker) -> None:
    fail(breaker, 4)
    breaker.ask().succeeded()
    fail(breaker, 4)

    assert breaker.status().state is CircuitState.CLOSED


@pytest.mark.parametrize(
    ("failures", "health"),
    [(0, Health.HEALTHY), (2, Health.HEALTHY), (3, Health.DEGRADED), (4, Health.DEGRADED), (5, Health.UNAVAILABLE)],
)
def test_health_is_degraded_from_half_of_the_threshold_on(
    breaker: CircuitBreaker, failures: int, health: Health
) -> None:
    fail(breaker, failures)

    assert breaker.status().health is health


def test_after_the_rest_one_call_gets_through_and_no_other(breaker: CircuitBreaker, monotonic: FakeMonotonic) -> None:
    fail(breaker)
    monotonic.advance(RULES.rest)

    probe, other = breaker.ask(), breaker.ask()

    assert (probe.allowed, probe.is_probe) == (True, True)
    assert (other.allowed, other.retry_after) == (False, RULES.probe_timeout)


def test_a_probe_that_succeeds_closes_the_circuit(breaker: CircuitBreaker, monotonic: FakeMonotonic) -> None:
    fail(breaker)
    monotonic.advance(RULES.rest)

    breaker.ask().succeeded()

    assert breaker.status().state is CircuitState.CLOSED
    assert [breaker.ask().allowed for _ in range(3)] == [True, True, True]


def test_a_probe_that_fails_begins_another_rest(breaker: CircuitBreaker, monotonic: FakeMonotonic) -> None:
    fail(breaker)
    monotonic.advance(RULES.rest)

    breaker.ask().failed()

    assert breaker.ask().retry_after == RULES.rest


def test_an_abandoned_probe_frees_its_slot_at_once(breaker: CircuitBreaker, monotonic: FakeMonotonic) -> None:
    fail(breaker)
    monotonic.advance(RULES.rest)

    breaker.ask().abandoned()

    assert breaker.ask().is_probe
    assert not breaker.ask().allowed


def test_a_probe_that_hangs_frees_its_slot_when_its_time_is_over(
    breaker: CircuitBreaker, monotonic: FakeMonotonic
) -> None:
    fail(breaker)
    monotonic.advance(RULES.rest)
    breaker.ask()

    monotonic.advance(RULES.probe_timeout)

    assert breaker.ask().is_probe
    assert not breaker.ask().allowed
    assert breaker.status().hung_probes == 1


def test_what_a_hung_probe_says_at_last_changes_nothing(breaker: CircuitBreaker, monotonic: FakeMonotonic) -> None:
    fail(breaker)
    monotonic.advance(RULES.rest)
    hung = breaker.ask()
    monotonic.advance(RULES.probe_timeout)
    breaker.ask()

    hung.succeeded()

    assert breaker.status().state is CircuitState.HALF_OPEN


def test_a_hung_probe_that_is_cancelled_at_last_does_not_free_the_slot_of_the_next(
    breaker: CircuitBreaker, monotonic: FakeMonotonic
) -> None:
    fail(breaker)
    monotonic.advance(RULES.rest)
    hung = breaker.ask()
    monotonic.advance(RULES.probe_timeout)
    breaker.ask()

    hung.abandoned()

    assert not breaker.ask().allowed


def test_calls_from_before_the_circuit_opened_neither_close_it_nor_prolong_its_rest(
    breaker: CircuitBreaker, monotonic: FakeMonotonic
) -> None:
    slow, slower = breaker.ask(), breaker.ask()
    fail(breaker)
    monotonic.advance(10)

    slow.succeeded()
    slower.failed()

    assert breaker.ask().retry_after == RULES.rest - 10


def test_only_the_first_word_about_a_call_counts(breaker: CircuitBreaker) -> None:
    permit = breaker.ask()

    permit.succeeded()
    permit.failed()
    permit.abandoned()

    status = breaker.status()
    assert (status.calls, status.failures, status.abandoned) == (1, 0, 0)


def test_a_block_that_raises_is_a_failure_and_a_timeout_is_counted_as_one(breaker: CircuitBreaker) -> None:
    with pytest.raises(ZeroDivisionError), breaker.ask():
        _ = 1 // 0
    with pytest.raises(TimeoutError), breaker.ask():
        raise TimeoutError

    assert (breaker.status().failures, breaker.status().timeouts) == (2, 1)


@pytest.mark.parametrize("kind", [asyncio.CancelledError, futures.CancelledError, KeyboardInterrupt, GeneratorExit])
def test_a_block_that_is_left_for_another_reason_says_nothing_about_the_tool(
    breaker: CircuitBreaker, kind: type[BaseException]
) -> None:
    with pytest.raises(kind), breaker.ask():
        raise kind

    assert (breaker.status().failures, breaker.status().abandoned) == (0, 1)


def test_entering_a_refused_permit_says_when_to_come_back(breaker: CircuitBreaker) -> None:
    fail(breaker)

    with pytest.raises(CircuitOpenError, match=r"search is not called: it failed too often. Try again in 30\.0 s"):
        breaker.ask().__enter__()


@pytest.mark.anyio
async def test_a_cancelled_task_frees_the_slot_of_its_probe(breaker: CircuitBreaker, monotonic: FakeMonotonic) -> None:
    fail(breaker)
    monotonic.advance(RULES.rest)

    async def call() -> None:
        with breaker.ask():
            await asyncio.Event().wait()

    task = asyncio.create_task(call())
    await asyncio.sleep(0)
    assert not breaker.ask().allowed
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)

    assert breaker.ask().is_probe


def test_the_average_latency_is_that_of_all_calls_that_ended(breaker: CircuitBreaker, monotonic: FakeMonotonic) -> None:
    assert breaker.status().average_latency is None
    quick, slow = breaker.ask(), breaker.ask()
    monotonic.advance(1)
    quick.succeeded()
    monotonic.advance(2)
    slow.failed()

    assert breaker.status().average_latency == 2


def test_one_tool_does_not_stop_another(monotonic: FakeMonotonic) -> None:
    broken, other = (CircuitBreaker(name, monotonic=monotonic) for name in ("broken", "other"))

    fail(broken)

    assert (broken.ask().allowed, other.ask().allowed) == (False, True)


WRONG = ["threshold", "rest", "probe_timeout", "rate", "results", "window", "is_failure"]


@pytest.mark.parametrize("wrong", [{"rest": float("nan")}, {"rate": 1.1}, *({name: 0} for name in WRONG)])
def test_rules_that_cannot_work_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidRequestError, match=r"a breaker needs|is_failure must be"):
        BreakerRules(**wrong)  # type: ignore[arg-type]
