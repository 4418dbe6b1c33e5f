"""The tool log: which tools were called for a user, with what inputs, and how the calls ended."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from mcp_memory_server.domain.kernel.redaction import Plain, redacted, redacted_text
from mcp_memory_server.domain.kernel.scope import check_id
from mcp_memory_server.errors import InvalidRequestError

LIFE = timedelta(days=30)
OUTPUT_CHARACTERS = 500


class ToolStatus(StrEnum):
    """How a call ended."""

    OK = "ok"
    ERROR = "error"
    TIMEOUT = "timeout"


@dataclass(frozen=True)
class ToolCall:
    """A logged call of a tool, without secrets, and with the beginning of its output."""

    id: str
    name: str
    status: ToolStatus
    duration: timedelta
    at: datetime
    inputs: Mapping[str, Plain]
    output: str
    session_id: str | None = None

    @property
    def expires_at(self) -> datetime:
        """When the entry expires."""
        return (self.at + LIFE).replace(microsecond=0)


@dataclass(frozen=True)
class ToolCallPage:
    """Some tool calls, newest first. ``cursor`` is None if there are no more.

    ``missing`` says what could not be read.
    """

    calls: tuple[ToolCall, ...]
    cursor: str | None = None
    missing: tuple[str, ...] = ()


def observed(
    call_id: str,
    name: str,
    inputs: Mapping[str, Any],
    output: str,
    *,
    status: ToolStatus,
    duration: timedelta,
    at: datetime,
    session_id: str | None,
) -> ToolCall:
    """Return the log entry of a call."""
    check_id("tool name", name)
    if duration < timedelta(0):
        raise InvalidRequestError(f"a duration cannot be negative, got {duration.total_seconds()} s")
    kept, said = redacted(inputs), redacted_text(output, OUTPUT_CHARACTERS)
    return ToolCall(call_id, name, status, duration, at, kept, said, session_id)
