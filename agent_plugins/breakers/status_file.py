"""The status of a running process in a file that an operator can read."""

import json
import os
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from agent_plugins.argument_checks import check_type
from mcp_memory_server import InvalidRequestError, NotFoundError

EVERY_SECONDS = 2.0


class StatusFile:
    """Writes the status every few seconds while the block runs, and removes the file at the end.

    The file is replaced atomically: a reader never sees half of it. A process that was killed leaves its file behind,
    with the time of the last write in it.
    """

    def __init__(
        self, path: Path | str, status: Callable[[], dict[str, Any]], *, every_seconds: float = EVERY_SECONDS
    ) -> None:
        check_type("path", path, (str, Path), "a path such as '/run/agents/1.json'")
        if not callable(status):
            raise InvalidRequestError(f"status must be a function such as plugin.status, got {type(status).__name__}")
        self._path = Path(path)
        self._status = status
        self._every = every_seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="status-file", daemon=True)

    def write(self) -> None:
        """Write the status now."""
        written = {"pid": os.getpid(), "at": time.time(), **self._status()}
        text = json.dumps(written, ensure_ascii=False, default=str)
        handle, name = tempfile.mkstemp(dir=self._path.parent, prefix=f".{self._path.name}.")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        Path(name).replace(self._path)

    def __enter__(self) -> Self:
        self.write()  # a missing folder raises here, where the caller sees it, and not in the thread
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        self._path.unlink(missing_ok=True)

    def _run(self) -> None:
        while not self._ended.wait(self._every):
            self.write()


def read_status(path: Path | str) -> dict[str, Any]:
    """Return the status that a process wrote, and how many seconds ago.

    Raises:
        NotFoundError: There is no such file, or it is not a status file.
    """
    try:
        written: dict[str, Any] = json.loads(Path(path).read_text(encoding="utf-8"))
        return {**written, "age_seconds": round(max(time.time() - written["at"], 0.0), 1)}
    except OSError as error:
        raise NotFoundError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise NotFoundError(f"{path} is not a status file of agent_plugins") from error
