"""The one thread of a process that writes: what waits together is committed together, in one flush to the disk."""

import logging
import queue
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mcp_memory_server.adapters.sqlite.files.opened_file import LogLostError, OpenedFile
from mcp_memory_server.errors import TableUnavailableError

R = TypeVar("R")

MAX_JOBS_PER_COMMIT = 100
SWEEP_SECONDS = 3600.0

logger = logging.getLogger(__name__)


@dataclass
class _Job:
    work: Callable[[sqlite3.Connection], Any]
    future: Future[Any] = field(default_factory=Future[Any])
    result: Any = None
    error: BaseException | None = None


class Writer:
    """Runs jobs one after another, each all or nothing, and answers when they are on the disk."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        sweep: Callable[[sqlite3.Connection], None],
        file: OpenedFile,
        pause: Callable[[], float] = lambda: SWEEP_SECONDS,
    ) -> None:
        """``pause`` returns how many seconds are to lie between two sweeps."""
        self._connection = connection
        self._sweep = sweep
        self._file = file
        self._pause = pause
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="memory-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[sqlite3.Connection], R]) -> Future[R]:
        """Queue a job. Its future is done when the job is durable, or was rolled back."""
        job = _Job(work)
        self._jobs.put(job)
        return job.future

    def close(self) -> None:
        """Finish what is queued, then stop."""
        self._jobs.put(None)
        self._thread.join()
        self._connection.close()

    def _run(self) -> None:
        swept_at = float("-inf")
        while True:
            left = swept_at + self._pause() - time.monotonic()
            if left <= 0:
                self._try_to_sweep()
                swept_at = time.monotonic()
                continue
            try:
                job = self._jobs.get(timeout=left)
            except queue.Empty:
                continue
            if job is None:
                return
            batch = [job, *self._waiting(MAX_JOBS_PER_COMMIT - 1)]
            self._commit([job for job in batch if job.future.set_running_or_notify_cancel()])

    def _waiting(self, most: int) -> list[_Job]:
        jobs: list[_Job] = []
        while len(jobs) < most:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                break
            if job is None:
                self._jobs.put(None)  # seen again after this batch
                break
            jobs.append(job)
        return jobs

    def _commit(self, batch: list[_Job]) -> None:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for job in batch:
                self._try(job, alone=len(batch) == 1)
            if self._connection.in_transaction:
                self._connection.execute("COMMIT")
            self._file.check_in_place()  # afterwards: what is acknowledged lies where it will be looked for
        except (sqlite3.Error, TableUnavailableError) as error:
            self._roll_back()
            if isinstance(error, LogLostError):
                self._file.move_log(self._connection)
            for job in batch:
                job.error = error
        for job in batch:
            if job.error is None:
                job.future.set_result(job.result)
            else:
                job.future.set_exception(job.error)

    def _try(self, job: _Job, *, alone: bool) -> None:
        if not alone:
            self._connection.execute("SAVEPOINT job")
        try:
            job.result = job.work(self._connection)
        except Exception as error:
            if not self._connection.in_transaction:
                raise  # the engine gave up on the whole commit, a full disk for instance
            job.error = error
            self._connection.execute("ROLLBACK" if alone else "ROLLBACK TO job")
        if not alone:
            self._connection.execute("RELEASE job")

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    def _try_to_sweep(self) -> None:
        try:
            self._sweep(self._connection)
        except sqlite3.Error:
            logger.warning(
                "expired and forgotten memories are not removed from the file yet; they stay hidden", exc_info=True
            )
