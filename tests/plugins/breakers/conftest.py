"""A breaker on a clock that a test moves."""

import pytest

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules
from tests.plugins.fake_monotonic import FakeMonotonic

RULES = BreakerRules(threshold=5, rest=30.0, probe_timeout=10.0)


@pytest.fixture
def breaker(monotonic: FakeMonotonic) -> CircuitBreaker:
    return CircuitBreaker("search", RULES, monotonic=monotonic)
