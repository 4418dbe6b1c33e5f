"""What counts as a failure of a tool, and the results of its last calls."""

import json
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from mcp_memory_server import InvalidRequestError, NotFoundError

_ABOUT_THE_CALL = (ValueError, LookupError, InvalidRequestError, NotFoundError)
_ABOUT_THE_SERVICE = (UnicodeError, json.JSONDecodeError)
"""These are ValueErrors too, but an answer that cannot be read comes from a service that is broken."""
_STATUSES_ABOUT_THE_CALL = frozenset({400, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 416, 417, 422})

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class FailedCall:
    """A call of a tool that ended with an error. Without an exception, the tool answered with an error: its text."""

    tool: str
    error: BaseException | None = None
    text: str = field(default="", repr=False)
    owner: str | None = None


IsFailure: TypeAlias = Callable[[FailedCall], bool]


def counts_as_failure(call: FailedCall) -> bool:
    """Return whether the error says that the tool is broken, and not that this call asked for something impossible.

    A ValueError or a LookupError ("no order 'x4'") is about the call, and so is an HTTP status such as 404. Timeouts,
    lost connections, answers that cannot be read, and all other errors are about the tool, as are errors without an
    exception: tools of MCP servers report a broken service in the same way as a wrong argument.
    """
    error = call.error
    if error is None:
        return True
    status: Any = getattr(getattr(error, "response", None), "status_code", None)
    if isinstance(status, int):
        return status not in _STATUSES_ABOUT_THE_CALL
    return not isinstance(error, _ABOUT_THE_CALL) or isinstance(error, _ABOUT_THE_SERVICE)


def every_error(_: FailedCall) -> bool:
    """Count every error as a failure."""
    return True


def is_counted(is_failure: IsFailure, call: FailedCall) -> bool:
    """Return the developer's decision about a failed call; an error of the decision itself counts as a failure."""
    try:
        return bool(is_failure(call))
    except Exception:
        logger.exception("is_failure of the tool %s raised; the call counts as a failure", call.tool)
        return True


class RecentResults:
    """The results of the last calls, to open the circuit of a tool that fails half of the time. Not thread-safe."""

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._results: deque[tuple[float, bool]] = deque()
        self._failures = 0

    def add(self, now: float, *, failed: bool) -> None:
        """Record a result, and forget the oldest beyond the limit."""
        self._results.append((now, failed))
        self._failures += failed
        while len(self._results) > self._most or self._results[0][0] < now - self._seconds:
            self._failures -= self._results.popleft()[1]

    def failure_rate(self) -> float | None:
        """Return the share of failures; None while there are too few results to say so."""
        return self._failures / self._most if len(self._results) == self._most else None

    def clear(self) -> None:
        """Forget all results."""
        self._results.clear()
        self._failures = 0
