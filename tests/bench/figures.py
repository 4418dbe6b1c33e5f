"""What a measurement came to, as a table for people and as plain data for programs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

Cell = str | int | float


@dataclass(frozen=True)
class Figures:
    """One table. Every row has the same columns; what misses its goal says so in its row."""

    title: str
    rows: Sequence[Mapping[str, Cell]]
    notes: Sequence[str] = ()


def percentile(seconds: Sequence[float], share: float) -> float:
    """Return the time, in milliseconds, that this share of the calls did not exceed."""
    if not seconds:
        return math.nan
    return sorted(seconds)[max(0, math.ceil(share * len(seconds)) - 1)] * 1000


def print_figures(figures: Figures) -> None:
    columns = list(figures.rows[0])
    lines = [columns, *([_text(row[column]) for column in columns] for row in figures.rows)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(columns))]
    print(f"\n{figures.title}")
    for line in lines:
        first, *rest = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        print("  ".join([line[0].ljust(len(first)), *rest]).rstrip())
    for note in figures.notes:
        print(f"  {note}")


def verdict(*, holds: bool) -> str:
    return "holds" if holds else "OVER"


def _text(cell: Cell) -> str:
    return f"{cell:,.2f}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else cell
