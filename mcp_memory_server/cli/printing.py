"""Output for people: tables that fit the terminal, and a progress line."""

import contextlib
import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from mcp_memory_server.domain.kernel.text import one_line, shortened

SHORTEST_LAST_COLUMN = 45
BOLD, RED, GREEN = "1", "31", "32"


def coloured(text: str, code: str) -> str:
    """Return the text in a colour, on a terminal whose owner did not set NO_COLOR."""
    return f"\x1b[{code}m{text}\x1b[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def print_json(value: Any) -> None:
    """Print a value for programs."""
    print(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def print_table(
    headings: Sequence[str], rows: Sequence[Sequence[str]], nothing: str, *, optional: Sequence[str] = ()
) -> None:
    """Print rows under headings. Elsewhere than on a terminal everything is printed.

    On a terminal, columns without any value are left out, then as many ``optional`` ones, first to last, as the last
    column needs to get `SHORTEST_LAST_COLUMN` characters; it is cut to fit.
    """
    if not rows:
        print(nothing)
        return
    table = [list(headings), *([one_line(cell) for cell in row] for row in rows)]
    width = _terminal_width()
    if width != sys.maxsize:
        empty = [name for column, name in enumerate(headings) if not any(line[column] for line in table[1:])]
        for name in [*empty, *optional]:
            if name in empty or _room(table, width) < SHORTEST_LAST_COLUMN:
                table = _without_column(table, name)
    widths = _widths(table)
    room = max(_room(table, width), SHORTEST_LAST_COLUMN)
    for line in [table[0], ["-" * width for width in widths], *table[1:]]:
        cells = [cell.ljust(width) for cell, width in zip(line[:-1], widths[:-1], strict=True)]
        text = "  ".join([*cells, shortened(line[-1], room)]).rstrip()
        print(coloured(text, BOLD) if line is table[0] else text)


def _widths(table: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(line[column]) for line in table) for column in range(len(table[0]))]


def _room(table: Sequence[Sequence[str]], width: int) -> int:
    """Return how many characters the last column can have."""
    others = _widths(table)[:-1]
    return width - sum(others) - 2 * len(others)


def _without_column(table: Sequence[list[str]], name: str) -> list[list[str]]:
    if name not in table[0]:
        return list(table)
    column = table[0].index(name)
    return [[*line[:column], *line[column + 1 :]] for line in table]


class ProgressLine:
    """A progress line on standard error; silent where that is not a terminal."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._watched = sys.stderr.isatty()

    def show(self, done: int, total: int | None = None) -> None:
        """Show the progress."""
        if self._watched:
            share = f" of {total:,}" if total is not None else ""
            print(f"\r{self._what}: {done:,}{share}", end="", file=sys.stderr, flush=True)

    def finish(self) -> None:
        """End the line."""
        if self._watched:
            print(file=sys.stderr)


def say(line: str) -> None:
    """Print a message that is not a result."""
    print(line, file=sys.stderr)


def confirmed(question: str, expected: str) -> bool:
    """Ask a person to type a word, and return whether they did; False without a terminal."""
    if not sys.stdin.isatty():
        return False
    print(question, end=" ", file=sys.stderr, flush=True)
    with interruptible():
        return sys.stdin.readline().strip() == expected


@contextlib.contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C interrupt a blocking read. The handler of the event loop would wait for the next await."""
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)


def _terminal_width() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
