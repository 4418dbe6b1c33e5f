"""A hundred calls at the instant at which a circuit is half-open: one of them probes."""

import threading
from collections.abc import Callable

import pytest

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules
from agent_plugins.breakers.permits import Permit
from tests.plugins.fake_monotonic import FakeMonotonic

CALLS = 100
ROUNDS = [pytest.param(50, id="50 rounds"), pytest.param(1000, id="1,000 rounds", marks=pytest.mark.slow)]
ENDINGS: list[Callable[[Permit], None]] = [Permit.failed, Permit.abandoned, lambda _: None]


@pytest.mark.parametrize("rounds", ROUNDS)
def test_of_a_hundred_threads_one_probes_whether_the_last_probe_failed_was_cancelled_or_hangs(rounds: int) -> None:
    monotonic = FakeMonotonic()
    breaker = CircuitBreaker("tool", BreakerRules(threshold=1, rest=30, probe_timeout=30), monotonic=monotonic)
    breaker.ask().failed()
    probes: list[int] = []
    asked: list[Permit] = []

    def judge() -> None:
        """Run by one thread when all have asked."""
        (*granted,) = (permit for permit in asked if permit.allowed)
        probes.append(len(granted))
        asked.clear()
        for permit in granted:
            ENDINGS[len(probes) % len(ENDINGS)](permit)
        monotonic.advance(30)

    monotonic.advance(30)
    start, end = threading.Barrier(CALLS), threading.Barrier(CALLS, action=judge)

    def call() -> None:
        for _ in range(rounds):
            start.wait()
            asked.append(breaker.ask())
            end.wait()

    threads = [threading.Thread(target=call) for _ in range(CALLS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert probes == [1] * rounds
