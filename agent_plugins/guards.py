"""Guards against runaway agents: a circle is noticed, told to the model as something to act on, and counted.

guards = Guards()
found = guards.tool_called("orders", "search", {"title": "Dune"})
if found is not None:
    ...  # put found.message where the model reads it; if found.stop, do not make the call
"""

import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any

from agent_plugins.fenced import fenced
from mcp_memory_server import InvalidRequestError

REPEATS = 3
STOP_AFTER = 6
LOOKING_BACK = 30
ROUNDS = 2
LONGEST_CIRCLE = 5
MOST_HANDOFFS = 100
LOCK_SECONDS = 60.0


class Runaway(StrEnum):
    """What can go wrong without anything failing."""

    REPEATED_CALL = "repeated_call"
    HANDOFF_CIRCLE = "handoff_circle"
    OVER_BUDGET = "over_budget"
    LOCK_NOT_RELEASED = "lock_not_released"
    DEADLOCK = "deadlock"


@dataclass(frozen=True)
class Finding:
    """What was noticed. The message is one for the model; ``stop`` says that going on as before is pointless."""

    kind: Runaway
    message: str
    times: int
    stop: bool = False


@dataclass(frozen=True)
class GuardRules:
    """From how many equal calls on the model is told, and from how many on they are not made any more.

    A circle of hand-offs is told when it was gone through ``rounds`` times. A lock that is held for longer than
    ``lock_seconds`` counts as never released.
    """

    repeats: int = REPEATS
    stop_after: int = STOP_AFTER
    looking_back: int = LOOKING_BACK
    rounds: int = ROUNDS
    lock_seconds: float = LOCK_SECONDS

    def __post_init__(self) -> None:
        if not 2 <= self.repeats <= self.stop_after <= self.looking_back or self.rounds < 2 or self.lock_seconds <= 0:
            raise InvalidRequestError(
                "guards need 2 ≤ repeats ≤ stop_after ≤ looking_back, rounds of at least 2 and more than 0 lock seconds"
            )


@dataclass
class _Held:
    owner: str
    since: float
    told: bool = False


@dataclass
class _Seen:
    """What was seen of one task: calls, hand-offs, and whether its time was found to be over."""

    calls: deque[bytes]
    agents: list[str] = field(default_factory=list[str])
    over_budget: int = 0


class Guards:
    """Watches the agents of one session. Safe to use from any thread; nothing here waits."""

    def __init__(self, rules: GuardRules | None = None, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self.rules = rules or GuardRules()
        self._monotonic = monotonic
        self._lock = Lock()
        self._seen = self._nothing_seen()
        self._held: dict[str, _Held] = {}
        self._waiting: dict[str, str] = {}
        self._counts: Counter[Runaway] = Counter()

    def user_spoke(self) -> None:
        """Forget the calls and hand-offs so far: the same again, for a new question, is no circle."""
        with self._lock:
            self._seen = self._nothing_seen()

    def tool_called(self, agent: str, tool: str, arguments: Mapping[str, Any]) -> Finding | None:
        """Note that a tool is about to be called, and tell if it was called with the same arguments again and again."""
        call = _fingerprint(agent, tool, arguments)
        with self._lock:
            self._seen.calls.append(call)
            times = self._seen.calls.count(call)
            if times < self.rules.repeats:
                return None
            return self._found(
                Runaway.REPEATED_CALL,
                f"You called {fenced(tool)} {times} times with the same arguments. The answer will not change: "
                "use what you have, change the arguments, or tell the user what is missing.",
                times,
                stop=times >= self.rules.stop_after,
            )

    def handed_over(self, giver: str, taker: str) -> Finding | None:
        """Note that one agent handed over to another, and tell if that went in a circle again and again."""
        with self._lock:
            agents = self._seen.agents
            if not agents or agents[-1] != giver:
                agents.append(giver)
            agents.append(taker)
            del agents[:-MOST_HANDOFFS]
            circle = _circle(agents, self.rules.rounds)
            if not circle:
                return None
            times = _rounds(agents, len(circle))
            way = " → ".join(fenced(name) for name in (*circle, circle[0]))
            return self._found(
                Runaway.HANDOFF_CIRCLE,
                f"The task went in a circle {times} times: {way}. Do not hand it over along this way again: "
                "answer with what is known, or ask the user.",
                times,
                stop=times > self.rules.rounds,
            )

    def time_checked(self, *, remaining: float | None) -> Finding | None:
        """Tell if the task is past its time budget: ``remaining`` seconds are below zero. None is no budget."""
        if remaining is None or remaining >= 0:
            return None
        with self._lock:
            self._seen.over_budget += 1
            return self._found(
                Runaway.OVER_BUDGET,
                f"The task is {-remaining:.0f} s past its time budget. Finish now: give the user what you have, "
                "and say what is missing.",
                self._seen.over_budget,
            )

    def lock_taken(self, name: str, owner: str) -> None:
        """Note that an agent holds a lock."""
        with self._lock:
            self._held[name] = _Held(owner, self._monotonic())
            self._waiting.pop(owner, None)

    def lock_released(self, name: str, owner: str) -> None:
        """Note that an agent let go of a lock. Letting go of somebody else's changes nothing."""
        with self._lock:
            held = self._held.get(name)
            if held is not None and held.owner == owner:
                del self._held[name]

    def lock_waited_for(self, name: str, waiter: str) -> Finding | None:
        """Note that an agent waits for a lock, and tell if its holder waits for this agent in turn."""
        with self._lock:
            self._waiting[waiter] = name
            chain = self._chain(waiter)
            if chain[-1] != waiter:
                return None
            del self._waiting[waiter]
            way = " waits for ".join(fenced(agent) for agent in chain)
            return self._found(
                Runaway.DEADLOCK,
                f"Nobody can go on: {way}. Release what you hold, do something else first, then try again.",
                len(chain) - 1,
                stop=True,
            )

    def locks_held_too_long(self) -> list[Finding]:
        """Tell, once each, which locks should have been released by now."""
        with self._lock:
            now = self._monotonic()
            overdue = [
                (name, held)
                for name, held in self._held.items()
                if not held.told and now - held.since > self.rules.lock_seconds
            ]
            return [self._never_released(name, held, now) for name, held in overdue]

    def counts(self) -> dict[str, int]:
        """Return how often each was found."""
        with self._lock:
            return {kind.value: self._counts[kind] for kind in Runaway}

    def _never_released(self, name: str, held: _Held, now: float) -> Finding:
        held.told = True
        return self._found(
            Runaway.LOCK_NOT_RELEASED,
            f"{fenced(held.owner)} has held the lock {fenced(name)} for {now - held.since:.0f} s and did not release "
            "it. Do not wait for it: go on without it, or tell the user.",
            1,
        )

    def _chain(self, waiter: str) -> list[str]:
        """Follow who waits for whom, from this agent until somebody waits for nobody, or is met again."""
        chain = [waiter]
        while (name := self._waiting.get(chain[-1])) is not None and (held := self._held.get(name)) is not None:
            met = held.owner in chain
            chain.append(held.owner)
            if met:
                break
        return chain if len(chain) > 1 else [waiter, ""]

    def _found(self, kind: Runaway, message: str, times: int, *, stop: bool = False) -> Finding:
        self._counts[kind] += 1
        return Finding(kind, message, times, stop)

    def _nothing_seen(self) -> _Seen:
        return _Seen(deque(maxlen=self.rules.looking_back))


def _fingerprint(agent: str, tool: str, arguments: Mapping[str, Any]) -> bytes:
    """Return the same for equal calls. Arguments are not kept: they may hold secrets."""
    text = json.dumps([agent, tool, arguments], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _circle(agents: list[str], rounds: int) -> list[str]:
    """Return the shortest circle that the agents have gone through so often just now, nothing if there is none."""
    for length in range(2, LONGEST_CIRCLE + 1):
        if _rounds(agents, length) >= rounds and len(set(agents[-length:])) > 1:
            return agents[-length:]
    return []


def _rounds(agents: list[str], length: int) -> int:
    """Return how often in a row the last so many agents were gone through."""
    rounds = 1
    while agents[-length * (rounds + 1) : -length * rounds] == agents[-length:]:
        rounds += 1
    return rounds
