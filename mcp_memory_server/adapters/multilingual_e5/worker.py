"""One thread that does jobs in the order of their urgency."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from enum import IntEnum
from itertools import count
from queue import PriorityQueue
from typing import Any, TypeVar

Result = TypeVar("Result")


class Urgency(IntEnum):
    """How soon a job is to be done: the lowest first, and of the same those that came first."""

    PREPARATION = 0
    QUESTION = 1
    PASSAGE = 2
    END = 3


class Worker:
    """Does jobs one after another in a thread of its own, which begins with the first job."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: PriorityQueue[tuple[Urgency, int, Callable[[], Any], Future[Any]]] = PriorityQueue()
        self._numbers = count()
        self._lock = threading.Lock()
        self._is_running = False
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Whether it takes no more jobs."""
        return self._is_closed

    def submit(self, urgency: Urgency, job: Callable[[], Result]) -> Future[Result]:
        """Have the job done. A result that is cancelled before its turn costs nothing.

        Raises:
            RuntimeError: The worker was closed.
        """
        future: Future[Result] = Future()
        with self._lock:
            if self._is_closed:
                raise RuntimeError(f"{self._name} was closed")
            self._jobs.put((urgency, next(self._numbers), job, future))
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run, name=self._name, daemon=True).start()
        return future

    def close(self) -> None:
        """Take no more jobs; those that were submitted are still done. Closing twice is harmless."""
        with self._lock:
            self._is_closed = True
            self._jobs.put((Urgency.END, next(self._numbers), _nothing, Future()))

    def _run(self) -> None:
        while True:
            urgency, _, job, future = self._jobs.get()
            if urgency == Urgency.END:
                return
            _do(job, future)


def _do(job: Callable[[], Result], future: "Future[Result]") -> None:
    if not future.set_running_or_notify_cancel():
        return
    try:
        future.set_result(job())
    except BaseException as error:  # noqa: BLE001 - whoever waits for the result gets it
        future.set_exception(error)


def _nothing() -> None:
    """Stand for no job."""
