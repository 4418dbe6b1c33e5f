"""A monotonic clock that stands still until a test moves it."""


class FakeMonotonic:
    """Pass it where ``monotonic`` is asked for."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def __call__(self) -> float:
        return self._seconds

    def advance(self, seconds: float) -> None:
        self._seconds += seconds
