"""Columns: arrays with a value for each row of the index, which grow with it."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.floating[Any]]
Rows = NDArray[np.integer[Any]]
"""Numbers of rows."""

_FEWEST = 8

Column = TypeVar("Column", bound=NDArray[Any])


def with_room(column: Column, row: int) -> Column:
    """Return the column with room for the row. It doubles, so that adding rows one by one stays cheap."""
    if row < len(column):
        return column
    grown = np.zeros((max(2 * len(column), row + 1, _FEWEST), *column.shape[1:]), column.dtype)
    grown[: len(column)] = column
    return grown  # type: ignore[return-value]
