"""Decides whether to ask the cluster or to go straight to DynamoDB, from how the cluster answered lately.

            3 failures in a row               pause over, one caller
    IN USE ────────────────────▶ AVOIDED ────────────────────────────▶ TRIAL
      ▲                            ▲                                     │
      │                            └───── no answer: the pause doubles ──┤
      └────────────────────────────────────── any answer ────────────────┘

1. After FAILURES_IN_A_ROW failures without an answer between them the cluster is avoided.
2. While it is avoided, one caller in each pause is allowed to try; everyone else is refused at once.
3. The pause starts at FIRST_PAUSE and doubles with each failed trial, up to LONGEST_PAUSE.
4. Any answer, also to a call that began earlier, puts the cluster back in use and resets the pause.
5. A trial that reports nothing, because its caller was cancelled, delays the next trial by one pause only.
"""

import time
from collections.abc import Callable
from threading import Lock

FAILURES_IN_A_ROW = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 5.0
"""In seconds."""


class HealthGate:
    """A circuit breaker for one kind of request. Any thread may use it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._failures = 0
        self._pause = FIRST_PAUSE
        self._next_try = 0.0

    def may_try(self) -> bool:
        """Return whether to ask the cluster (rules 1 and 2)."""
        with self._lock:
            if self._failures < FAILURES_IN_A_ROW:
                return True
            now = self._clock()
            if now < self._next_try:
                return False
            self._next_try = now + self._pause
            return True

    def answered(self) -> bool:
        """Record an answer, and return whether the cluster was avoided until now (rule 4)."""
        with self._lock:
            was_avoided = self._failures >= FAILURES_IN_A_ROW
            self._failures, self._pause = 0, FIRST_PAUSE
            return was_avoided

    def failed(self) -> bool:
        """Record that no answer came, and return whether the cluster has just become avoided (rules 1 and 3)."""
        with self._lock:
            self._failures += 1
            if self._failures > FAILURES_IN_A_ROW:
                self._pause = min(LONGEST_PAUSE, 2 * self._pause)
            self._next_try = self._clock() + self._pause
            return self._failures == FAILURES_IN_A_ROW
