"""Daemon threads for calls that may hang: such a call occupies its thread, and delays nothing else."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class DaemonThreads(ThreadPoolExecutor):
    """Runs each call in a daemon thread of its own.

    An event loop waits for its executor when it is closed, and so does the interpreter when it exits: a tool that
    hangs would delay an agent that has already answered. Neither waits for these threads.
    """

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Start the call at once."""
        future: Future[R] = Future()

        def call() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # noqa: BLE001 - raised again where the future is awaited
                future.set_exception(error)

        threading.Thread(target=call, name="memory-plugin-call", daemon=True).start()
        return future

    def shutdown(self, wait: bool = True, **_: Any) -> None:  # noqa: FBT001, FBT002 - as the executor has it
        """Do nothing: running calls are neither awaited nor stopped."""
