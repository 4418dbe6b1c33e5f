"""Processes that share a circuit through one Redis, and all ask at the instant at which it is half-open."""

import multiprocessing
import threading
import time
from dataclasses import dataclass
from typing import Any

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules, CircuitState
from agent_plugins.breakers.permits import Permit
from agent_plugins.breakers.redis_circuits import RedisCircuits

RULES = BreakerRules(threshold=1, rest=0.02, probe_timeout=60.0)
TIMEOUT_SECONDS = 120


@dataclass(frozen=True)
class Stage:
    """What the processes share: where they meet, and how many probes there were in each round."""

    processes: int
    calls: int
    rounds: int
    barrier: Any
    probes: Any


def probes_of_each_round(url: str, *, processes: int, calls: int, rounds: int) -> list[int]:
    """Return how many of the calls probed, for so many rounds in which one did."""
    spawn = multiprocessing.get_context("spawn")
    # A round in which the server finds that it is a millisecond early has no probe, and is not counted.
    stage = Stage(
        processes, calls, rounds, spawn.Barrier(processes, timeout=TIMEOUT_SECONDS), spawn.Array("i", 20 * rounds)
    )
    workers = [spawn.Process(target=work, args=(url, stage, number), daemon=True) for number in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * processes
    return [count for count in stage.probes[:] if count]


def work(url: str, stage: Stage, number: int) -> None:
    circuits = RedisCircuits(url)
    breaker = CircuitBreaker("tool", RULES, shared=circuits)
    callers = Callers(breaker, stage.calls)
    circuits.flush()
    stage.barrier.wait()
    if number == 0:
        breaker.ask().failed()
    counted, place = 0, 0
    while counted < stage.rounds:
        wait_until_due(breaker)
        stage.barrier.wait()
        granted = [permit for permit in callers.ask_at_once() if permit.allowed]
        with stage.probes.get_lock():
            stage.probes[place] += len(granted)
        stage.barrier.wait()
        counted += stage.probes[place] > 0
        end(breaker, granted, place)
        place += 1
    circuits.close()


def end(breaker: CircuitBreaker, granted: list[Permit], place: int) -> None:
    for permit in granted:
        match place % 3:
            case 0:
                permit.failed()
            case 1:
                permit.abandoned()
            case _:
                permit.succeeded()
                breaker.ask().failed()


def wait_until_due(breaker: CircuitBreaker) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while (status := breaker.status()).state is CircuitState.CLOSED or status.retry_after > 0:
        assert time.monotonic() < deadline, status
        time.sleep(0.001)  # until reports of the others arrived; it decides nothing


class Callers:
    """Threads that all ask at the same instant, as often as a test asks."""

    def __init__(self, breaker: CircuitBreaker, calls: int) -> None:
        self._breaker = breaker
        self._asked: list[Permit] = []
        self._start, self._end = threading.Barrier(calls + 1), threading.Barrier(calls + 1)
        for _ in range(calls):
            threading.Thread(target=self._call, daemon=True).start()

    def ask_at_once(self) -> list[Permit]:
        self._asked = []
        self._start.wait()
        self._end.wait()
        return self._asked

    def _call(self) -> None:
        while True:
            self._start.wait()
            self._asked.append(self._breaker.ask())
            self._end.wait()
