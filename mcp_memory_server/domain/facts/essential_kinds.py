"""The kinds of facts that no conversation may start without: who the user is, dangers to health, how to answer."""

from enum import IntEnum


class Essential(IntEnum):
    """The kind of an essential fact, most urgent first within each of the two groups."""

    NAME = 1
    HOME = 2
    WORK = 3
    HOUSEHOLD = 4
    HOME_MORE = 5
    WORK_MORE = 6
    """Anything else under a topic of the home, or of work or studies; whether a home is rented or owned."""
    BORN = 7
    """A birthday, an age, pronouns."""
    REACTION = 10
    """An allergy or intolerance of the user, or a potentially fatal one of anybody."""
    REACTION_OF_OTHERS = 11
    CONDITION = 12
    """An illness, a medicine, a pregnancy, something that must never be given."""
    CONDITION_OF_OTHERS = 13
    DIET = 14
    DIET_OF_OTHERS = 15
    HEALTH = 16
    """Anything else under a topic of health."""
    MANNER = 20
    """How the user wants answers."""


CAN_HURT = (
    Essential.REACTION,
    Essential.REACTION_OF_OTHERS,
    Essential.CONDITION,
    Essential.CONDITION_OF_OTHERS,
)
"""Kinds that do harm if they are not known, whoever they concern, most dangerous first."""
