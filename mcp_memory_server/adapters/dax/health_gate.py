"""Whether to ask a cluster or to go around it, from how it answered lately."""

import time
from collections.abc import Callable
from threading import Lock

FAILURES_IN_A_ROW = 3
FIRST_PAUSE = 0.5
LONGEST_PAUSE = 5.0


class HealthGate:
    """Goes around after a few failures in a row, and lets one call try again after each pause. For any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._failures = 0
        self._pause = FIRST_PAUSE
        self._next_try = 0.0

    def may_try(self) -> bool:
        """Tell whether the cluster is to be asked. While it is avoided, only one call in each pause is told so."""
        with self._lock:
            if self._failures < FAILURES_IN_A_ROW:
                return True
            now = self._clock()
            if now < self._next_try:
                return False
            self._next_try = now + self._pause
            return True

    def answered(self) -> bool:
        """Note that the cluster is there, and tell whether it was avoided before."""
        with self._lock:
            was_avoided = self._failures >= FAILURES_IN_A_ROW
            self._failures, self._pause = 0, FIRST_PAUSE
            return was_avoided

    def failed(self) -> bool:
        """Note that it did not answer, and tell whether it is avoided from now on."""
        with self._lock:
            self._failures += 1
            if self._failures > FAILURES_IN_A_ROW:
                self._pause = min(LONGEST_PAUSE, 2 * self._pause)
            self._next_try = self._clock() + self._pause
            return self._failures == FAILURES_IN_A_ROW
