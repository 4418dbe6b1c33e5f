"""Whether an answer is complete: failure is never emptiness."""

from enum import StrEnum


class Status(StrEnum):
    """Whether everything could be looked at. "Nothing is known" and "I could not look" are different answers."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    UNAVAILABLE = "unavailable"
