"""Locks that agents of one process hold and wait for, as far as they say so."""

from collections.abc import Callable
from dataclasses import dataclass

from agent_plugins.fenced import fenced
from agent_plugins.guards.loop_findings import Finding, LoopKind


@dataclass
class _Held:
    owner: str
    since: float
    told: bool = False


class LockWatch:
    """Who holds what, and who waits for whom. It locks nothing itself; `Guards` sees to it that one asks at a time."""

    def __init__(self, seconds: float, monotonic: Callable[[], float]) -> None:
        self._seconds = seconds
        self._monotonic = monotonic
        self._held: dict[str, _Held] = {}
        self._waiting: dict[str, str] = {}

    def taken(self, name: str, owner: str) -> None:
        """Note that an agent holds a lock, and no longer waits for it."""
        self._held[name] = _Held(owner, self._monotonic())
        self._waiting.pop(owner, None)

    def released(self, name: str, owner: str) -> None:
        """Note that an agent let go of a lock. Letting go of somebody else's changes nothing."""
        held = self._held.get(name)
        if held is not None and held.owner == owner:
            del self._held[name]

    def given_up(self, waiter: str) -> None:
        """Note that an agent no longer waits."""
        self._waiting.pop(waiter, None)

    def waited_for(self, name: str, waiter: str) -> Finding | None:
        """Note that an agent waits for a lock, unless its holder waits for this agent in turn: that is told."""
        self._waiting[waiter] = name
        chain = self._chain(waiter)
        if len(chain) < 2 or chain[-1] != waiter:
            return None
        del self._waiting[waiter]
        way = " waits for ".join(fenced(agent) for agent in chain)
        message = f"Nobody can go on: {way}. Release what you hold, do something else first, then try again."
        return Finding(LoopKind.DEADLOCK, message, len(chain) - 1, stop=True)

    def held_too_long(self) -> list[Finding]:
        """Tell, once each, which locks should have been released by now."""
        now = self._monotonic()
        return [
            self._never_released(name, held, now - held.since)
            for name, held in self._held.items()
            if not held.told and now - held.since > self._seconds
        ]

    def _never_released(self, name: str, held: _Held, seconds: float) -> Finding:
        held.told = True
        message = (
            f"{fenced(held.owner)} has held the lock {fenced(name)} for {seconds:.0f} s and did not release it. "
            "Do not wait for it: go on without it, or tell the user."
        )
        return Finding(LoopKind.LOCK_NOT_RELEASED, message, 1)

    def _chain(self, waiter: str) -> list[str]:
        """Follow who waits for whom, from this agent until somebody waits for nobody, or is met again."""
        chain = [waiter]
        while (name := self._waiting.get(chain[-1])) is not None and (held := self._held.get(name)) is not None:
            met = held.owner in chain
            chain.append(held.owner)
            if met:
                break
        return chain
