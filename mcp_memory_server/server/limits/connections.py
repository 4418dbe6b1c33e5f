"""The connections of the HTTP server: how long each may wait, and how many there are.

1. A connection ends when it sends no complete request head within `head` seconds of its first byte (or of its start),
   is idle for `idle` seconds after an answer, or its request and the answer together take over `request` seconds.
2. When there are too many, the one that has waited longest for a request is closed. If every other one is being
   answered, the new one is refused: those that came before are served.
"""

import asyncio
import sys
from dataclasses import dataclass, replace
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

OTHER_FILES = 200
"""Files that the process needs besides its connections."""

RETRY_SECONDS = 2
_BODY = b"the server has no room now\n"
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n"
    b"Retry-After: %d\r\nContent-Length: %d\r\n\r\n%s" % (RETRY_SECONDS, len(_BODY), _BODY)
)


@dataclass(frozen=True)
class ConnectionLimits:
    """How many connections there are at most, and for how many seconds one may wait."""

    most: int = 1000
    head: float = 10
    idle: float = 60
    request: float = 90
    closing: float = 5
    """How long a closed connection may still take what was sent to it."""


class LimitedProtocol(H11Protocol):
    """uvicorn's protocol with limits. `limited_protocol` returns the class for the connections of one server."""

    limits: ClassVar[ConnectionLimits]
    waiting: ClassVar[dict["LimitedProtocol", None]]
    """Those without a request, the longest waiting one first."""

    timer: asyncio.TimerHandle | None = None
    is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Make room for it, or refuse it."""
        super().connection_made(transport)
        self.timeout_keep_alive = self.limits.idle  # pyright: ignore[reportAttributeAccessIssue] - seconds of a timer
        if len(self.connections) > self.limits.most and not self._closed_another():
            self.is_refused = True
            transport.write(_REFUSAL)
            self.end()
            return
        self.waiting[self] = None
        self._allow(self.limits.head)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        super().connection_lost(exc)
        self.waiting.pop(self, None)
        self._stop_timer()

    def data_received(self, data: bytes) -> None:
        """Time the head of a request from its first bytes."""
        if self.is_refused:
            return
        super().data_received(data)
        if not self.is_answering and self.timer is None:
            self._allow(self.limits.head)

    def handle_events(self) -> None:
        """Time a request from its head to its answer."""
        was_answering = self.is_answering
        super().handle_events()
        if self.is_answering and not was_answering:
            self.waiting.pop(self, None)
            self._allow(self.limits.request)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._stop_timer()
        self.waiting[self] = None
        super().on_response_complete()  # sets the time to be idle, or begins the next request
        if self.transport.is_closing():
            self.end()

    def timeout_keep_alive_handler(self) -> None:
        """End an idle connection."""
        self.end()

    @property
    def is_answering(self) -> bool:
        """Return whether a request has come that is not answered yet."""
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def end(self) -> None:
        """Close the connection, also if the client does not take what was sent to it."""
        self.waiting.pop(self, None)
        self._stop_timer()
        self.transport.close()
        self.timer = self.loop.call_later(self.limits.closing, self.transport.abort)

    def _closed_another(self) -> bool:
        longest = next(iter(self.waiting), None)
        if longest is not None:
            longest.end()
        return longest is not None

    def _allow(self, seconds: float) -> None:
        self._stop_timer()
        self.timer = self.loop.call_later(seconds, self.end)

    def _stop_timer(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None


def limited_protocol(limits: ConnectionLimits) -> type[LimitedProtocol]:
    """Return the protocol of a server with these limits."""
    stated = replace(limits, most=min(limits.most, _room_for_files(limits.most)))
    return type("LimitedProtocol", (LimitedProtocol,), {"limits": stated, "waiting": {}})


def _room_for_files(wanted: int) -> int:
    """Return how many connections the limit of open files allows, after raising it as far as this process may."""
    if sys.platform == "win32":
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted + OTHER_FILES:
        soft = min(wanted + OTHER_FILES, hard) if hard != resource.RLIM_INFINITY else wanted + OTHER_FILES
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(soft - OTHER_FILES, soft // 2)
