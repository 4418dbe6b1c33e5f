"""One thread that does jobs in the order of their urgency."""

import heapq
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from enum import IntEnum
from itertools import count
from typing import Any, TypeVar

Result = TypeVar("Result")


class Urgency(IntEnum):
    """How soon a job is to be done: the lowest first, and of the same those that came first."""

    LOADING = 0
    QUESTION = 1
    PASSAGE = 2


class Worker:
    """Does jobs one after another in a thread of its own, which begins with the first job."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: list[_Job] = []
        self._numbers = count()
        self._changed = threading.Condition()
        self._is_running = False
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more jobs."""
        return self._is_closed

    def submit(self, urgency: Urgency, job: Callable[[], Result]) -> Future[Result]:
        """Have the job done. One whose result is cancelled before its turn costs nothing.

        Raises:
            RuntimeError: The worker was closed.
        """
        future: Future[Result] = Future()
        with self._changed:
            if self._is_closed:
                raise RuntimeError(f"{self._name} was closed")
            heapq.heappush(self._jobs, _Job(urgency, next(self._numbers), job, future))
            self._changed.notify()
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
        return future

    def do_what_goes_before(self, urgency: Urgency) -> None:
        """Do the jobs that wait and are more urgent than this. A long job of that urgency calls it now and then."""
        while (job := self._take(urgency)) is not None:
            job.do()

    def close(self) -> None:
        """Take no more jobs; those that were submitted are still done. Closing twice is harmless."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _run(self) -> None:
        while (job := self._wait_for_one()) is not None:
            job.do()

    def _wait_for_one(self) -> "_Job | None":
        with self._changed:
            self._changed.wait_for(lambda: self._jobs or self._is_closed)
            return heapq.heappop(self._jobs) if self._jobs else None

    def _take(self, before: Urgency) -> "_Job | None":
        with self._changed:
            return heapq.heappop(self._jobs) if self._jobs and self._jobs[0].urgency < before else None


@dataclass(frozen=True, order=True)
class _Job:
    urgency: Urgency
    number: int
    work: Callable[[], Any] = field(compare=False)
    future: Future[Any] = field(compare=False)

    def do(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(self.work())
        except BaseException as error:  # noqa: BLE001 - whoever waits for the result gets it
            self.future.set_exception(error)
