"""Guards against runaway agents: loops are detected, reported to the model as something to act on, and counted.

guards = Guards()
found = guards.tool_called("orders", "search", {"title": "Dune"})
if found is not None:
    ...  # show found.message to the model; if found.stop, do not make the call
"""

import hashlib
import json
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from agent_plugins.argument_checks import check_type
from agent_plugins.guards.findings import Finding, GuardRules, LoopKind
from agent_plugins.guards.lock_watch import LockWatch
from agent_plugins.quoting import quoted

__all__ = ["Finding", "GuardRules", "Guards", "LoopKind"]

LONGEST_CYCLE = 5
MOST_HANDOFFS = 100


@dataclass
class _TaskHistory:
    """What the agents did for one task: the last calls and hand-offs, and how often it was over its time budget."""

    calls: deque[bytes]
    agents: list[str] = field(default_factory=list[str])
    over_budget: int = 0


class Guards:
    """Watches the agents of one session. Safe to use from any thread; nothing here blocks."""

    def __init__(self, rules: GuardRules | None = None, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        check_type("rules", rules, (GuardRules, type(None)), "GuardRules(repeats=3)")
        self.rules = rules or GuardRules()
        self._lock = Lock()
        self._history = self._empty_history()
        self._locks = LockWatch(self.rules.lock_seconds, monotonic)
        self._counts: Counter[LoopKind] = Counter()

    def user_spoke(self) -> None:
        """Forget the calls and hand-offs so far: repeating them for a new question is no loop."""
        with self._lock:
            self._history = self._empty_history()

    def tool_called(self, agent: str, tool: str, arguments: Mapping[str, Any]) -> Finding | None:
        """Record a call of a tool that is about to be made; return a finding if it was repeated too often."""
        call = _fingerprint(agent, tool, arguments)
        with self._lock:
            self._history.calls.append(call)
            times = self._history.calls.count(call)
            if times < self.rules.repeats:
                return None
            return self._count(
                Finding(
                    LoopKind.REPEATED_CALL,
                    f"You called {quoted(tool)} {times} times with the same arguments. The answer will not change: "
                    "use what you have, change the arguments, or tell the user what is missing.",
                    times,
                    stop=times >= self.rules.stop_after,
                )
            )

    def handed_over(self, giver: str, taker: str) -> Finding | None:
        """Record a hand-off from one agent to another; return a finding if the hand-offs form a cycle."""
        with self._lock:
            agents = self._history.agents
            if not agents or agents[-1] != giver:
                agents.append(giver)
            agents.append(taker)
            del agents[:-MOST_HANDOFFS]
            cycle = _cycle_in(agents, self.rules.rounds)
            if not cycle:
                return None
            times = _rounds(agents, len(cycle))
            way = " → ".join(quoted(name) for name in (*cycle, cycle[0]))
            return self._count(
                Finding(
                    LoopKind.HANDOFF_CIRCLE,
                    f"The task went in a circle {times} times: {way}. Do not hand it over along this way again: "
                    "answer with what is known, or ask the user.",
                    times,
                    stop=times > self.rules.rounds,
                )
            )

    def time_checked(self, *, remaining: float | None) -> Finding | None:
        """Return a finding if ``remaining`` seconds of the time budget are below zero. None means no budget."""
        if remaining is None or remaining >= 0:
            return None
        with self._lock:
            self._history.over_budget += 1
            return self._count(
                Finding(
                    LoopKind.OVER_BUDGET,
                    f"The task is {-remaining:.0f} s past its time budget. Finish now: give the user what you have, "
                    "and say what is missing.",
                    self._history.over_budget,
                )
            )

    def lock_taken(self, name: str, owner: str) -> None:
        """Record that an agent of this process holds a lock."""
        with self._lock:
            self._locks.taken(name, owner)

    def lock_released(self, name: str, owner: str) -> None:
        """Record that an agent released a lock. The lock of another agent stays as it is."""
        with self._lock:
            self._locks.released(name, owner)

    def lock_waited_for(self, name: str, waiter: str) -> Finding | None:
        """Record that an agent waits for a lock; return a finding if that is a deadlock."""
        with self._lock:
            return self._count(self._locks.waited_for(name, waiter))

    def lock_wait_ended(self, waiter: str) -> None:
        """Record that an agent stopped waiting for a lock that it did not get."""
        with self._lock:
            self._locks.wait_ended(waiter)

    def locks_held_too_long(self) -> list[Finding]:
        """Return a finding, once for each, for the locks that are held for too long."""
        with self._lock:
            found = self._locks.held_too_long()
            self._counts.update(finding.kind for finding in found)
            return found

    def counts(self) -> dict[str, int]:
        """Return the number of findings of each kind."""
        with self._lock:
            return {kind.value: self._counts[kind] for kind in LoopKind}

    def _count(self, found: Finding | None) -> Finding | None:
        if found is not None:
            self._counts[found.kind] += 1
        return found

    def _empty_history(self) -> _TaskHistory:
        return _TaskHistory(deque(maxlen=self.rules.window))


def _fingerprint(agent: str, tool: str, arguments: Mapping[str, Any]) -> bytes:
    """Return a hash that is the same for equal calls. Arguments are not stored: they may contain secrets."""
    try:
        text = json.dumps([agent, tool, arguments], sort_keys=True, default=repr)
    except (TypeError, ValueError, RecursionError):  # keys of several types, or a value that contains itself
        text = repr((agent, tool, arguments))
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()


def _cycle_in(agents: list[str], rounds: int) -> list[str]:
    """Return the shortest cycle that ends the list and was repeated ``rounds`` times; empty if there is none."""
    for length in range(2, LONGEST_CYCLE + 1):
        if _rounds(agents, length) >= rounds and len(set(agents[-length:])) > 1:
            return agents[-length:]
    return []


def _rounds(agents: list[str], length: int) -> int:
    """Return how often the last ``length`` agents are repeated at the end of the list."""
    rounds = 1
    while agents[-length * (rounds + 1) : -length * rounds] == agents[-length:]:
        rounds += 1
    return rounds
