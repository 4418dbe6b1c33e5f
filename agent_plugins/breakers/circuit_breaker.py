"""A circuit breaker for one tool: it opens when calls fail, and later allows a single call as a probe.

breaker = CircuitBreaker("search")
with breaker.ask():          # raises CircuitOpenError while the circuit is open
    result = search(query)   # an exception that the rules count is a failure, a cancellation is none
"""

import asyncio
import time
from collections.abc import Callable
from threading import Lock

from agent_plugins.argument_checks import check_type
from agent_plugins.breakers.circuit_rules import (
    BreakerRules,
    CircuitState,
    CircuitStatus,
    Health,
    SharedCircuits,
    SharedView,
)
from agent_plugins.breakers.failures import RecentResults
from agent_plugins.breakers.permits import Counts, Permit
from agent_plugins.telemetry import circuit_changed
from mcp_memory_server import UnavailableError

_LEVELS = {CircuitState.CLOSED: 0, CircuitState.HALF_OPEN: 1, CircuitState.OPEN: 2}

REFRESH_SECONDS = 1.0
"""How often the shared state is read again while another worker probes: its report may have been lost."""


class CircuitBreaker:
    """Closed; open after too many failures; half-open after ``rest`` seconds: then one call probes. See `BreakerRules`.

    Safe to use from any number of threads and event loops. Nothing here blocks, except for a fraction of a second when
    workers share the circuit and a probe is due. An abandoned probe frees its slot at once, a hanging one when its
    timeout is over. The result of a call that began before the circuit last changed is counted, but changes nothing.
    """

    def __init__(
        self,
        name: str,
        rules: BreakerRules | None = None,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        shared: SharedCircuits | None = None,
    ) -> None:
        check_type("name", name, str, "the name of a tool such as 'search'")
        check_type("rules", rules, (BreakerRules, type(None)), "BreakerRules(threshold=3)")
        self.name = name
        self.rules = rules or BreakerRules()
        self._monotonic = monotonic
        self._shared = shared
        self._lock = Lock()
        self._state = CircuitState.CLOSED
        self._epoch = 0  # raised whenever the circuit changes, so that older results are recognised
        self._failures_in_a_row = 0
        self._until = 0.0  # end of the rest while open, of the probe's timeout while half-open
        self._probing = False
        self._counts = Counts()
        self._results = RecentResults(self.rules.results, self.rules.window)
        if shared is not None:
            shared.follow(name, self.adopt)

    def ask(self) -> Permit:
        """Return a permit that says whether the tool may be called. The caller reports to it how the call went."""
        with self._lock:
            now = self._monotonic()
            if self._state is CircuitState.CLOSED:
                return self._allowed(now)
            if now < self._until:
                return self._refused(self._until - now)
            self._begin_probe(now)
            epoch = self._epoch
            if self._shared is None:
                return self._allowed(now, is_probe=True)
        return self._claim(self._shared, epoch, now)

    async def ask_async(self) -> Permit:
        """Do as ``ask`` does, but never block the event loop, not even when a shared circuit is due for a probe."""
        if self._shared is None or not self._probe_is_due():
            return self.ask()
        asking = asyncio.get_running_loop().run_in_executor(None, self.ask)
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.add_done_callback(lambda asked: asked.result().abandoned())
            raise

    def status(self) -> CircuitStatus:
        """Return the state of the circuit and its counters."""
        with self._lock:
            counts = self._counts
            waiting = self._state is not CircuitState.CLOSED
            return CircuitStatus(
                name=self.name,
                state=self._state,
                health=self._health(),
                failures_in_a_row=self._failures_in_a_row,
                threshold=self.rules.threshold,
                retry_after=max(self._until - self._monotonic(), 0.0) if waiting else 0.0,
                calls=counts.calls,
                failures=counts.failures,
                timeouts=counts.timeouts,
                refused=counts.refused,
                abandoned=counts.abandoned,
                hung_probes=counts.hung_probes,
                opened=counts.opened,
                average_latency=counts.average_latency(),
                failure_rate=self._results.failure_rate(),
                ignored=counts.ignored,
            )

    def adopt(self, view: SharedView) -> None:
        """Take over the state that the circuit has for all workers."""
        with self._lock:
            self._adopt(view, self._monotonic())

    def finish(self, permit: Permit, *, failed: bool, timeout: bool) -> None:
        """Count the result of a call, and change the circuit if needed. Each permit calls this once."""
        with self._lock:
            now = self._monotonic()
            self._counts.count(now - permit.started, failed=failed, timeout=timeout)
            if permit.epoch != self._epoch:
                return
            self._results.add(now, failed=failed)
            if not failed:
                self._succeeded(permit, now)
            else:
                self._failed(permit, now)

    def abandon(self, permit: Permit, *, ignored: bool = False) -> None:
        """Free the slot of a call that says nothing about the tool: it was cancelled, or its error does not count."""
        with self._lock:
            self._counts.ignored += ignored
            self._counts.abandoned += not ignored
            if permit.is_probe and permit.epoch == self._epoch:
                self._probing, self._until = False, self._monotonic()
                if self._shared is not None and permit.token is not None:
                    self._shared.probe_abandoned(self.name, permit.token)

    def _probe_is_due(self) -> bool:
        with self._lock:
            return self._state is not CircuitState.CLOSED and self._monotonic() >= self._until

    def _claim(self, shared: SharedCircuits, epoch: int, now: float) -> Permit:
        """Ask for the right to probe among all workers. Other calls of this worker are refused meanwhile."""
        try:
            claim = shared.claim(self.name, self.rules.probe_timeout)
        except UnavailableError:
            claim = None  # each worker for itself: ten probes are better than none
        with self._lock:
            token = claim.token if claim else None
            if self._epoch == epoch and (claim is None or token is not None):
                return self._allowed(now, is_probe=True, token=token)
            if self._epoch == epoch and claim is not None:
                self._adopt(claim.view, self._monotonic())
            elif token is not None:
                shared.probe_abandoned(self.name, token)  # the circuit changed meanwhile
            if self._state is CircuitState.CLOSED:
                return self._allowed(now)
            return self._refused(max(self._until - self._monotonic(), 0.0))

    def _allowed(self, now: float, *, is_probe: bool = False, token: int | None = None) -> Permit:
        self._counts.calls += 1
        return Permit(self, self._epoch, now, is_probe=is_probe, token=token)

    def _refused(self, retry_after: float) -> Permit:
        self._counts.refused += 1
        reason = "it is being tried by another call" if self._state is CircuitState.HALF_OPEN else "it failed too often"
        return Permit(self, self._epoch, 0.0, retry_after=retry_after, reason=reason)

    def _begin_probe(self, now: float) -> None:
        self._counts.hung_probes += self._probing
        self._change(CircuitState.HALF_OPEN, now + self.rules.probe_timeout)
        self._probing = True

    def _succeeded(self, permit: Permit, now: float) -> None:
        self._failures_in_a_row = 0
        if permit.is_probe:
            self._change(CircuitState.CLOSED)
            if self._shared is not None and permit.token is not None:
                self._shared.probe_succeeded(self.name, permit.token)
        elif self._fails_too_often():
            self._open(now)

    def _failed(self, permit: Permit, now: float) -> None:
        self._failures_in_a_row += 1
        if permit.is_probe:
            self._change(CircuitState.OPEN, now + self.rules.rest)
            if self._shared is not None and permit.token is not None:
                self._shared.probe_failed(self.name, permit.token, self.rules.rest)
        elif self._failures_in_a_row >= self.rules.threshold or self._fails_too_often():
            self._open(now)

    def _open(self, now: float) -> None:
        self._change(CircuitState.OPEN, now + self.rules.rest)
        if self._shared is not None:
            self._shared.opened(self.name, self.rules.rest)

    def _fails_too_often(self) -> bool:
        rate = self._results.failure_rate()
        return rate is not None and self.rules.rate is not None and rate >= self.rules.rate

    def _adopt(self, view: SharedView, now: float) -> None:
        if view.state is CircuitState.CLOSED:
            if self._state is not CircuitState.CLOSED:
                self._failures_in_a_row = 0
                self._change(CircuitState.CLOSED)
            return
        remaining = view.remaining
        if view.state is CircuitState.HALF_OPEN:
            remaining = min(remaining, REFRESH_SECONDS)
        self._change(CircuitState.OPEN, now + remaining)

    def _change(self, state: CircuitState, until: float = 0.0) -> None:
        opens = state is CircuitState.OPEN and self._state is CircuitState.CLOSED
        self._counts.opened += opens
        circuit_changed(self.name, _LEVELS[state], opened=opens)
        self._state, self._until, self._probing = state, until, False
        self._results.clear()
        self._epoch += 1

    def _health(self) -> Health:
        if self._state is not CircuitState.CLOSED:
            return Health.UNAVAILABLE
        rate = self._results.failure_rate()
        is_half_of_the_rate = rate is not None and self.rules.rate is not None and 2 * rate >= self.rules.rate
        if is_half_of_the_rate or 2 * self._failures_in_a_row >= self.rules.threshold:
            return Health.DEGRADED
        return Health.HEALTHY
