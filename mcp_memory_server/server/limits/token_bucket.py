"""A token bucket: how much may be used at once, and how fast that comes back."""

from dataclasses import dataclass


@dataclass
class TokenBucket:
    """Holds up to ``capacity`` units and gets ``per_second`` more. Times are those of a monotonic clock."""

    capacity: float
    per_second: float
    level: float
    filled_at: float

    @classmethod
    def full(cls, capacity: float, per_second: float, now: float) -> "TokenBucket":
        """Return one from which nothing was taken yet."""
        return cls(capacity, per_second, capacity, now)

    def wait_for(self, units: float, now: float) -> float:
        """Return in how many seconds the units can be taken: 0 if they can be now. Nothing is taken.

        More than the bucket holds can be taken when it is full; it then owes the rest.
        """
        self.level = min(self.capacity, self.level + max(now - self.filled_at, 0) * self.per_second)
        self.filled_at = now
        return max(min(units, self.capacity) - self.level, 0) / self.per_second

    def take(self, units: float) -> None:
        """Take units, after `wait_for` returned 0."""
        self.level -= units
