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
from threading import Lock
from typing import Any

from agent_plugins.fenced import fenced
from agent_plugins.guards.lock_watch import LockWatch
from agent_plugins.guards.loop_findings import Finding, GuardRules, LoopKind

__all__ = ["Finding", "GuardRules", "Guards", "LoopKind"]

LONGEST_CIRCLE = 5
MOST_HANDOFFS = 100


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
        self._lock = Lock()
        self._seen = self._nothing_seen()
        self._locks = LockWatch(self.rules.lock_seconds, monotonic)
        self._counts: Counter[LoopKind] = Counter()

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
            return self._counted(
                Finding(
                    LoopKind.REPEATED_CALL,
                    f"You called {fenced(tool)} {times} times with the same arguments. The answer will not change: "
                    "use what you have, change the arguments, or tell the user what is missing.",
                    times,
                    stop=times >= self.rules.stop_after,
                )
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
            return self._counted(
                Finding(
                    LoopKind.HANDOFF_CIRCLE,
                    f"The task went in a circle {times} times: {way}. Do not hand it over along this way again: "
                    "answer with what is known, or ask the user.",
                    times,
                    stop=times > self.rules.rounds,
                )
            )

    def time_checked(self, *, remaining: float | None) -> Finding | None:
        """Tell if the task is past its time budget: ``remaining`` seconds are below zero. None is no budget."""
        if remaining is None or remaining >= 0:
            return None
        with self._lock:
            self._seen.over_budget += 1
            return self._counted(
                Finding(
                    LoopKind.OVER_BUDGET,
                    f"The task is {-remaining:.0f} s past its time budget. Finish now: give the user what you have, "
                    "and say what is missing.",
                    self._seen.over_budget,
                )
            )

    def lock_taken(self, name: str, owner: str) -> None:
        """Note that an agent holds a lock. The agents are those of this process."""
        with self._lock:
            self._locks.taken(name, owner)

    def lock_released(self, name: str, owner: str) -> None:
        """Note that an agent let go of a lock. Letting go of somebody else's changes nothing."""
        with self._lock:
            self._locks.released(name, owner)

    def lock_waited_for(self, name: str, waiter: str) -> Finding | None:
        """Note that an agent waits for a lock, and tell if its holder waits for this agent in turn."""
        with self._lock:
            return self._counted(self._locks.waited_for(name, waiter))

    def lock_given_up(self, waiter: str) -> None:
        """Note that an agent no longer waits for a lock that it did not get."""
        with self._lock:
            self._locks.given_up(waiter)

    def locks_held_too_long(self) -> list[Finding]:
        """Tell, once each, which locks should have been released by now."""
        with self._lock:
            found = self._locks.held_too_long()
            self._counts.update(finding.kind for finding in found)
            return found

    def counts(self) -> dict[str, int]:
        """Return how often each was found."""
        with self._lock:
            return {kind.value: self._counts[kind] for kind in LoopKind}

    def _counted(self, found: Finding | None) -> Finding | None:
        if found is not None:
            self._counts[found.kind] += 1
        return found

    def _nothing_seen(self) -> _Seen:
        return _Seen(deque(maxlen=self.rules.looking_back))


def _fingerprint(agent: str, tool: str, arguments: Mapping[str, Any]) -> bytes:
    """Return the same for equal calls. Arguments are not kept: they may hold secrets."""
    try:
        text = json.dumps([agent, tool, arguments], sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):  # keys of several kinds, or a value that holds itself
        text = repr((agent, tool, arguments))
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
