"""Breakers on a clock that a test moves."""

import pytest

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuits import BreakerRules
from tests.plugins.core.moments import Moments

RULES = BreakerRules(threshold=5, rest=30.0, probe_timeout=10.0)


@pytest.fixture
def moments() -> Moments:
    return Moments()


@pytest.fixture
def breaker(moments: Moments) -> CircuitBreaker:
    return CircuitBreaker("search", RULES, monotonic=moments)
