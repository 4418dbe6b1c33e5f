"""Detection of deadlocks, and of locks that are held for too long."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_plugins.guards.findings import Finding, LoopKind
from agent_plugins.quoting import quoted


@dataclass
class _Held:
    owner: str
    since: float
    reported: bool = False


class LockWatch:
    """Which agent holds which lock, and which waits for which. Not thread-safe by itself: `Guards` holds its lock."""

    def __init__(self, seconds: float, monotonic: Callable[[], float]) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._held: dict[str, _Held] = {}
        self._waiting: dict[str, str] = {}

    def taken(self, name: str, owner: str) -> None:
        """Record that an agent holds a lock, and no longer waits for it."""
        self._held[name] = _Held(owner, self._monotonic())
        self._waiting.pop(owner, None)

    def released(self, name: str, owner: str) -> None:
        """Record that an agent released a lock. The lock of another agent stays as it is."""
        held = self._held.get(name)
        if held is not None and held.owner == owner:
            del self._held[name]

    def wait_ended(self, waiter: str) -> None:
        """Record that an agent no longer waits."""
        self._waiting.pop(waiter, None)

    def waited_for(self, name: str, waiter: str) -> Finding | None:
        """Record that an agent waits for a lock, unless that is a deadlock: then return a finding."""
        self._waiting[waiter] = name
        chain = self._wait_chain(waiter)
        if len(chain) < 2 or chain[-1] != waiter:
            return None
        del self._waiting[waiter]
        way = " waits for ".join(quoted(agent) for agent in chain)
        message = f"Nobody can go on: {way}. Release what you hold, do something else first, then try again."
        return Finding(LoopKind.DEADLOCK, message, len(chain) - 1, stop=True)

    def held_too_long(self) -> list[Finding]:
        """Return a finding, once for each, for the locks that are held for too long."""
        now = self._monotonic()
        return [
            self._not_released(name, held, now - held.since)
            for name, held in self._held.items()
            if not held.reported and now - held.since > self._seconds
        ]

    def _not_released(self, name: str, held: _Held, seconds: float) -> Finding:
        held.reported = True
        message = (
            f"{quoted(held.owner)} has held the lock {quoted(name)} for {seconds:.0f} s and did not release it. "
            "Do not wait for it: go on without it, or tell the user."
        )
        return Finding(LoopKind.LOCK_NOT_RELEASED, message, 1)

    def _wait_chain(self, waiter: str) -> list[str]:
        """Follow the waiting agents from this one, until one waits for nothing or occurs a second time."""
        chain = [waiter]
        while (name := self._waiting.get(chain[-1])) is not None and (held := self._held.get(name)) is not None:
            met = held.owner in chain
            chain.append(held.owner)
            if met:
                break
        return chain
