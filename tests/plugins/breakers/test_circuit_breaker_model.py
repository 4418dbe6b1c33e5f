"""Whatever is asked and answered, in any order, a breaker does what a plain model of it does."""

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, multiple, precondition, rule

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules, CircuitState, Health
from agent_plugins.breakers.failures import FailedCall
from agent_plugins.breakers.permits import Permit
from tests.plugins.fake_monotonic import FakeMonotonic

THRESHOLD, REST, PROBE, RATE, RESULTS, WINDOW = 3, 10.0, 10.0, 0.5, 4, 60.0


@dataclass(frozen=True)
class Call:
    """A permit, and what the model knew when it was given."""

    permit: Permit
    epoch: int
    is_probe: bool


class BreakerModel(RuleBasedStateMachine):
    """The model counts epochs: each change of the circuit begins one, and only calls of this epoch have a say."""

    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.monotonic = FakeMonotonic()
        self.breaker = CircuitBreaker(
            "tool", BreakerRules(THRESHOLD, REST, PROBE, RATE, RESULTS, WINDOW), monotonic=self.monotonic
        )
        self.state, self.epoch, self.row, self.now, self.until = "closed", 0, 0, 0.0, 0.0
        self.allowed, self.refused, self.failed, self.ignored = 0, 0, 0, 0
        self.results: list[tuple[float, bool]] = []

    @rule(seconds=st.sampled_from([0.5, REST / 2, REST]))
    def time_goes_by(self, seconds: float) -> None:
        self.monotonic.advance(seconds)
        self.now += seconds

    @rule(target=calls)
    def ask(self) -> object:
        permit = self.breaker.ask()
        probes = self.state != "closed" and self.now >= self.until
        assert permit.allowed == (self.state == "closed" or probes)
        assert permit.is_probe == probes
        if probes:
            self.change("half_open", PROBE)
        self.allowed += permit.allowed
        self.refused += not permit.allowed
        assert permit.allowed or permit.retry_after == self.until - self.now > 0
        return Call(permit, self.epoch, probes) if permit.allowed else multiple()

    @rule(call=consumes(calls))
    def succeed(self, call: Call) -> None:
        call.permit.succeeded()
        if call.epoch == self.epoch:
            self.row = 0
            self.results.append((self.now, False))
            if call.is_probe:
                self.change("closed")
            elif self.rate() >= RATE:
                self.change("open", REST)

    @rule(call=consumes(calls), timeout=st.booleans())
    def fail(self, call: Call, timeout: bool) -> None:  # noqa: FBT001
        call.permit.failed(timeout=timeout)
        self.failed += 1
        if call.epoch == self.epoch:
            self.row += 1
            self.results.append((self.now, True))
            if call.is_probe or self.row >= THRESHOLD or self.rate() >= RATE:
                self.change("open", REST)

    @rule(call=consumes(calls), is_error=st.booleans())
    def abandon(self, call: Call, is_error: bool) -> None:  # noqa: FBT001
        if is_error:
            call.permit.raised(FailedCall("tool", ValueError("no order 'x4'")))
            self.ignored += 1
        else:
            call.permit.abandoned()
        if call.is_probe and call.epoch == self.epoch:
            self.until = self.now

    @precondition(lambda self: self.state == "closed")
    @rule()
    def break_down(self) -> None:
        while self.state == "closed":
            self.fail(self.ask(), timeout=False)  # type: ignore[arg-type]

    @precondition(lambda self: self.state != "closed")
    @rule()
    def rest_is_over(self) -> None:
        self.time_goes_by(REST)

    @invariant()
    def both_agree(self) -> None:
        status = self.breaker.status()
        waiting = 0.0 if self.state == "closed" else max(self.until - self.now, 0.0)
        assert (status.state, status.retry_after) == (CircuitState(self.state), waiting)
        assert (status.calls, status.refused, status.failures) == (self.allowed, self.refused, self.failed)
        assert status.ignored == self.ignored
        expected = Health.HEALTHY if 2 * self.row < THRESHOLD and 2 * self.rate() < RATE else Health.DEGRADED
        assert status.health == (expected if self.state == "closed" else Health.UNAVAILABLE)

    def rate(self) -> float:
        """Return the share of failures among the last results, 0 while there are too few of them within the window."""
        last = self.results[-RESULTS:]
        recent = [failed for at, failed in last if at >= last[-1][0] - WINDOW]
        return sum(recent) / RESULTS if len(recent) == RESULTS else 0.0

    def change(self, state: str, seconds: float = 0.0) -> None:
        self.state, self.until, self.results = state, self.now + seconds, []
        self.epoch += 1


TestBreakerModel = BreakerModel.TestCase
TestBreakerModel.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)
