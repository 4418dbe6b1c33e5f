"""A default never replaces what the user chose, and notes live as long as their kind."""

import pytest

from mcp_memory_server.domain.facts.notes import NoteKind, expiry
from mcp_memory_server.domain.facts.preferences import Preference, SetBy, choose
from mcp_memory_server.errors import InvalidRequestError, TooLargeError
from tests.domain.samples import DAY, NOON


def preference(value: str, set_by: SetBy) -> Preference:
    return Preference("tone", value, set_by, NOON)


BRIEF_BY_USER = preference("brief", SetBy.USER)
LONG_BY_USER = preference("long", SetBy.USER)
BRIEF_BY_DEFAULT = preference("brief", SetBy.DEFAULT)
LONG_BY_DEFAULT = preference("long", SetBy.DEFAULT)


@pytest.mark.parametrize(
    ("wanted", "stored", "holds", "changed"),
    [
        (BRIEF_BY_USER, None, BRIEF_BY_USER, True),
        (BRIEF_BY_DEFAULT, None, BRIEF_BY_DEFAULT, True),
        (LONG_BY_USER, BRIEF_BY_USER, LONG_BY_USER, True),
        (LONG_BY_USER, BRIEF_BY_DEFAULT, LONG_BY_USER, True),
        (BRIEF_BY_USER, BRIEF_BY_DEFAULT, BRIEF_BY_USER, True),
        (LONG_BY_DEFAULT, BRIEF_BY_DEFAULT, LONG_BY_DEFAULT, True),
        (LONG_BY_DEFAULT, BRIEF_BY_USER, BRIEF_BY_USER, False),
        (BRIEF_BY_DEFAULT, BRIEF_BY_USER, BRIEF_BY_USER, False),
        (BRIEF_BY_USER, BRIEF_BY_USER, BRIEF_BY_USER, False),
    ],
)
def test_a_default_never_replaces_the_choice_of_the_user(
    wanted: Preference, stored: Preference | None, holds: Preference, *, changed: bool
) -> None:
    change = choose(wanted, stored)

    assert (change.preference, change.earlier, change.changed) == (holds, stored, changed)


@pytest.mark.parametrize("key", ["", " ", "k" * 129])
def test_a_preference_needs_a_key(key: str) -> None:
    with pytest.raises(InvalidRequestError, match="preference key"):
        Preference(key, "brief", SetBy.USER, NOON)


def test_a_preference_needs_a_value_of_a_reasonable_length() -> None:
    with pytest.raises(InvalidRequestError, match="preference value must not be blank"):
        preference(" ", SetBy.USER)
    with pytest.raises(TooLargeError):
        preference("v" * 2049, SetBy.USER)


@pytest.mark.parametrize(("kind", "days"), [(NoteKind.FEEDBACK, 180), (NoteKind.PATTERN, 30)])
def test_a_note_lives_as_long_as_its_kind(kind: NoteKind, days: int) -> None:
    assert expiry(kind, NOON.replace(microsecond=900_000)) == NOON + days * DAY
