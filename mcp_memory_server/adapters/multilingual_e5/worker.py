"""One thread that runs jobs by priority."""

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
    """The priority of a job: the lowest first, and within one priority in order of arrival."""

    LOADING = 0
    QUESTION = 1
    PASSAGE = 2


class Worker:
    """Runs jobs one after another in a thread, which starts with the first job.

    The thread is no daemon: the interpreter waits for the running job when it exits, because killing a thread inside
    onnxruntime crashes the process.
    """

    def __init__(self, name: str) -> None:
        self._jobs: list[_Job] = []
        self._numbers = count()
        self._lock = threading.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=name)

    def submit(self, urgency: Urgency, job: Callable[[], Result]) -> Future[Result]:
        """Queue the job. One whose result is cancelled before it starts is skipped.

        Raises:
            RuntimeError: The worker was closed, or the interpreter is ending.
        """
        future: Future[Result] = Future()
        with self._lock:
            # This only wakes the thread, which takes the most urgent job of that moment.
            self._thread.submit(self._do_next)
            heapq.heappush(self._jobs, _Job(urgency, next(self._numbers), job, future))
        return future

    def do_what_goes_before(self, urgency: Urgency) -> None:
        """Run the waiting jobs that are more urgent than this. A long job calls it from time to time."""
        while (job := self._take(urgency)) is not None:
            job.do()

    def close(self) -> None:
        """Accept no more jobs; those that were submitted still run. Closing twice is harmless."""
        self._thread.shutdown(wait=False)

    def _do_next(self) -> None:
        # There may be none: it may have run inside another job.
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
        except BaseException as error:  # noqa: BLE001 - the waiter gets it
            self.future.set_exception(error)
