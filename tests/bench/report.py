"""Measurements as a table: what was measured, what the floor was, and whether the budget holds."""

from collections.abc import Sequence
from dataclasses import dataclass

COLD_START_BUDGET = 1.2
READ_BUDGET = 1.5
WRITE_BUDGET = 1.2
"""How many times its floor something may take."""


@dataclass(frozen=True)
class Measured:
    """The median of a measurement and of its floor, in milliseconds."""

    what: str
    milliseconds: float
    floor: float
    budget: float | None

    @property
    def ratio(self) -> float:
        """How many times the floor."""
        return self.milliseconds / self.floor


def print_report(conditions: str, measured: Sequence[Measured]) -> None:
    """Print one line a measurement. A budget that does not hold is marked, never hidden."""
    print(f"medians; {conditions}")
    print(f"{'what':<32} {'ms':>9} {'floor ms':>9} {'ratio':>6} {'budget':>7}")
    for one in measured:
        budget = "" if one.budget is None else f"{one.budget:.1f}"
        verdict = "" if one.budget is None or one.ratio <= one.budget else "  over"
        print(f"{one.what:<32} {one.milliseconds:>9.2f} {one.floor:>9.2f} {one.ratio:>6.2f} {budget:>7}{verdict}")
