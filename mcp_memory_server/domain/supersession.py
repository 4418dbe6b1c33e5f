"""Supersession: whether a new statement takes the place of an earlier one under the same topic."""

SINGLE_VALUED = frozenset(
    (
        "address",
        "age",
        "birthday",
        "city",
        "email",
        "employer",
        "hometown",
        "job_title",
        "name",
        "phone",
        "timezone",
    )
)
"""Leaf names of topics that have one value at a time."""


def is_update(new: str, old: str, topic: str | None) -> bool:  # noqa: ARG001 - decided by the topic alone for now
    """Tell whether the new statement says what the old one said, with another value."""
    return topic is not None and topic.rpartition("/")[2].strip().casefold() in SINGLE_VALUED
