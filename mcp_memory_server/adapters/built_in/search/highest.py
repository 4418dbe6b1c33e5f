"""The highest of many scores."""

import numpy as np

from mcp_memory_server.adapters.built_in.search.columns import Numbers, Rows

MANY = 10_000
"""So many scores are first cut off coarsely."""
_STEPS = 255


def highest(scores: Numbers, limit: int) -> Rows:
    """Return the places of the highest scores above zero, in no order."""
    places = np.flatnonzero(scores > 0)
    if len(places) > MANY:
        places = places[_high(scores[places], limit)]
    if limit < len(places):
        places = places[np.argpartition(scores[places], -limit)[-limit:]]
    return places


def _high(scores: Numbers, limit: int) -> Rows:
    """Return at least as many, cut off coarsely: of many scores that takes a fifth of the time of an exact cut."""
    steps = (scores * (_STEPS / scores.max())).astype(np.uint8)
    reached = np.cumsum(np.bincount(steps, minlength=_STEPS + 1)[::-1])
    return np.flatnonzero(steps >= _STEPS - int(np.searchsorted(reached, limit)))
