"""The status of tools as a table in a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

_TOOL_HEADINGS = (
    "TOOL",
    "OWNER",
    "HEALTH",
    "CIRCUIT",
    "IN A ROW",
    "CALLS",
    "FAILED",
    "TIMEOUTS",
    "REFUSED",
    "AVERAGE",
    "RETRY IN",
)
_CALL_HEADINGS = ("CALL", "TOOL", "AGENT", "RUNS FOR", "TIMEOUT", "")
_SHARED_HEADINGS = ("TOOL", "CIRCUIT", "FOR", "RETRY IN", "CHANGED BY WORKER")


def process_page(status: Mapping[str, Any]) -> str:
    """Return the tools of a process and its running calls."""
    tools = [row for name, tool in status["tools"].items() for row in _tool_rows(name, tool)]
    calls = [_call_row(call) for call in status["in_flight"]]
    parts = [f"process {status['pid']}, {status['age_seconds']:g} s ago", _table(_TOOL_HEADINGS, tools, "no tools")]
    parts += ["", _table(_CALL_HEADINGS, calls, "no calls under way")]
    if guards := {kind: times for kind, times in status.get("guards", {}).items() if times}:
        parts += ["", "guards: " + ", ".join(f"{kind} {times}" for kind, times in guards.items())]
    return "\n".join(parts)


def shared_page(circuits: Sequence[Mapping[str, Any]]) -> str:
    """Return the circuits that workers share."""
    rows = [
        (
            _line(one["name"]),
            one["state"],
            _seconds(one["since_seconds"]),
            _seconds(one["retry_after"]),
            one["changed_by"],
        )
        for one in circuits
    ]
    return _table(_SHARED_HEADINGS, rows, "no circuit has opened yet, or none within the last day")


def _tool_rows(name: str, tool: Mapping[str, Any]) -> Sequence[tuple[str, ...]]:
    owners: Mapping[str, Any] = tool.get("owners") or {"-": tool}
    return [_tool_row(name, owner, owned) for owner, owned in owners.items()]


def _tool_row(name: str, owner: str, tool: Mapping[str, Any]) -> tuple[str, ...]:
    circuit = tool["circuit"]
    average = circuit["average_latency"]
    return (
        _line(name),
        _line(owner),
        tool["health"],
        circuit["state"],
        f"{circuit['failures_in_a_row']}/{circuit['threshold']}",
        *(f"{circuit[key]:,}" for key in ("calls", "failures", "timeouts", "refused")),
        "-" if average is None else f"{1000 * average:,.1f} ms",
        _seconds(circuit["retry_after"]),
    )


def _call_row(call: Mapping[str, Any]) -> tuple[str, ...]:
    notes = [note for note in ("overdue", "probe") if call[note]]
    return (
        call["id"],
        _line(call["tool"]),
        _line(call["agent"] or "-"),
        _seconds(call["seconds"]),
        _seconds(call["timeout"]),
        ", ".join(notes),
    )


def _table(headings: Sequence[str], rows: Sequence[Sequence[str]], nothing: str) -> str:
    if not rows:
        return nothing
    widths = [max(len(line[column]) for line in (headings, *rows)) for column in range(len(headings))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (headings, *rows)
    ]
    return "\n".join(line.rstrip() for line in lines)


def _seconds(seconds: float | None) -> str:
    return "-" if not seconds else f"{seconds:,.1f} s"


def _line(text: str) -> str:
    """Return a name without control characters, which a terminal would obey."""
    return "".join(letter if letter.isprintable() else "�" for letter in text)
