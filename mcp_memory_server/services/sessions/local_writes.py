"""Own turns: what this process wrote to conversations, so that it need not look for that in the table."""

import os
from threading import Lock
from uuid import uuid4


class LocalWrites:
    """Tells those who search here which sessions got turns from here. Used from any thread."""

    def __init__(self) -> None:
        self._name, self._process = _new_name(), os.getpid()
        self._lock = Lock()
        self._written: dict[str, dict[str, str]] = {}

    @property
    def writer(self) -> str:
        """How this process is called where it announces that it writes. One that was forked has a name of its own."""
        if self._process != os.getpid():
            self._name, self._process = _new_name(), os.getpid()
        return self._name

    def watch(self, user_id: str) -> None:
        """Note from now on what is written for the user."""
        with self._lock:
            self._written.setdefault(user_id, {})

    def disconnect(self, user_id: str) -> None:
        """Note nothing more for the user."""
        with self._lock:
            self._written.pop(user_id, None)

    def note(self, user_id: str, session_id: str, turn_id: str) -> None:
        """Note that the table has a turn. It is found by whoever asks after this."""
        with self._lock:
            sessions = self._written.get(user_id)
            if sessions is not None:
                sessions[session_id] = min(turn_id, sessions.get(session_id, turn_id))

    def are_there(self, user_id: str) -> bool:
        """Tell whether something was written since it was last taken."""
        return bool(self._written.get(user_id))

    def take(self, user_id: str) -> dict[str, str]:
        """Return the sessions that were written to since this was last asked, each with the first of those turns."""
        with self._lock:
            taken = self._written.get(user_id, {})
            if taken:
                self._written[user_id] = {}
            return taken


def _new_name() -> str:
    return uuid4().hex[:8]
