"""The status of a reply: a failure is never reported as an empty result."""

from enum import StrEnum


class Status(StrEnum):
    """Whether everything could be read. "Nothing is stored" and "it could not be read" are different answers."""

    COMPLETE = "complete"
    PARTIAL = "partial"
    UNAVAILABLE = "unavailable"
