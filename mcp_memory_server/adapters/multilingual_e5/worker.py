"""One thread that does jobs in the order of their urgency."""

import heapq
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
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
    """Does jobs one after another in a thread of its own, which begins with the first job.

    The thread is no daemon: when the interpreter ends, the job that is being done is waited for. A thread that is ended
    within onnxruntime takes the process down with it.
    """

    def __init__(self, name: str) -> None:
        self._jobs: list[_Job] = []
        self._numbers = count()
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    def submit(self, urgency: Urgency, job: Callable[[], Result]) -> Future[Result]:
        """Have the job done. One whose result is cancelled before its turn costs nothing.

        Raises:
            RuntimeError: The worker was closed, or the interpreter is ending.
        """
        future: Future[Result] = Future()
        with self._lock:
            # The thread is only woken: what it then does is the most urgent job of that moment.
            self._thread.submit(self._do_next)
            heapq.heappush(self._jobs, _Job(urgency, next(self._numbers), job, future))
        return future

    def do_what_goes_before(self, urgency: Urgency) -> None:
        """Do the jobs that wait and are more urgent than this. A long job of that urgency calls it now and then."""
        while (job := self._take(urgency)) is not None:
            job.do()

    def close(self) -> None:
        """Take no more jobs; those that were submitted are still done. Closing twice is harmless."""
        self._thread.shutdown(wait=False)

    def _do_next(self) -> None:
        # There may be none: a more urgent one may have been done within another.
        if (job := self._take()) is not None:
            job.do()

    def _take(self, before: Urgency | None = None) -> "_Job | None":
        with self._lock:
            if self._jobs and (before is None or self._jobs[0].urgency < before):
                return heapq.heappop(self._jobs)
            return None


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
