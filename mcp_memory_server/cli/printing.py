"""What a person sees: tables that fit the terminal, and a line that shows how long work gets on."""

import contextlib
import json
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from mcp_memory_server.domain.kernel.text import one_line, shortened

SHORTEST_LAST_COLUMN = 20


def print_json(value: Any) -> None:
    """Print a value for programs."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def print_table(headings: Sequence[str], rows: Sequence[Sequence[str]], nothing: str) -> None:
    """Print rows under headings. On a terminal the last column is cut to fit; elsewhere nothing is."""
    if not rows:
        print(nothing)
        return
    lines = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(len(line[column]) for line in [headings, *lines]) for column in range(len(headings))]
    room = _terminal_width() - sum(widths[:-1]) - 2 * (len(widths) - 1)
    for line in [headings, ["-" * width for width in widths], *lines]:
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths[:-1], strict=True)]
        print("  ".join([*cells, shortened(line[-1], max(room, SHORTEST_LAST_COLUMN))]).rstrip())


class ProgressLine:
    """One line on standard error that is rewritten as work goes on; silent where nobody watches."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._watched = sys.stderr.isatty()

    def show(self, done: int, total: int | None = None) -> None:
        """Tell how far the work is."""
        if self._watched:
            share = f" of {total:,}" if total is not None else ""
            print(f"\r{self._what}: {done:,}{share}", end="", file=sys.stderr, flush=True)

    def finish(self) -> None:
        """Leave the line as it is."""
        if self._watched:
            print(file=sys.stderr)


def say(line: str) -> None:
    """Tell a person something that is no result."""
    print(line, file=sys.stderr)


def confirmed(question: str, expected: str) -> bool:
    """Ask a person to type a word, and tell whether they did. Where there is nobody to ask, nobody agrees."""
    if not sys.stdin.isatty():
        return False
    print(question, end=" ", file=sys.stderr, flush=True)
    with interruptible():
        return sys.stdin.readline().strip() == expected


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C end what waits for a person or a pipe. The event loop's own handler would wait for the next await."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
