"""The change log beside a user's version says what changed, or that this is unknown."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.items import PUSHED_KEPT, Item, Key, Update, after_push
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.schema.keys import profile_key
from mcp_memory_server.schema.user_versions import (
    MemoriesChanged,
    SessionActivity,
    UserVersion,
    activity_count,
    activity_since,
    bump_version,
    changes_since,
    publish_activity,
    version_from,
)

ANNA = Scope("anna")


class Profile:
    """The profile item of a user after each write."""

    def __init__(self) -> None:
        self.body: dict[str, Any] = {}

    def write(self, update: Update) -> UserVersion:
        self.body |= {**update.set, **after_push(self.body, update.push)}
        for name, amount in update.add.items():
            self.body[name] = self.body.get(name, 0) + amount
        version = version_from(Item(profile_key(ANNA), self.body, 1))
        assert version is not None
        return version


def key(number: int) -> Key:
    return Key("USER#anna", f"FACT#{number}")


@given(st.integers(1, PUSHED_KEPT + 3), st.integers(0, 5))
def test_changes_are_returned_as_far_back_as_the_log_reaches(later_writes: int, before: int) -> None:
    profile = Profile()
    for number in range(before):
        profile.write(bump_version(ANNA, key(-number)))
    version = profile.write(bump_version(ANNA, key(0)))
    for number in range(1, later_writes + 1):
        profile.write(bump_version(ANNA, key(number)))

    changes = changes_since(version, profile.body)

    expected = [MemoriesChanged((f"FACT#{number}",)) for number in range(later_writes, 0, -1)]
    assert changes == (expected if later_writes < PUSHED_KEPT else None)


def test_one_log_entry_names_everything_that_one_write_changed() -> None:
    profile = Profile()
    version = profile.write(bump_version(ANNA, key(0)))
    profile.write(bump_version(ANNA, key(1), key(2)))

    assert changes_since(version, profile.body) == [MemoriesChanged(("FACT#1", "FACT#2"))]


@pytest.mark.parametrize("keys", [(), tuple(Key("USER#anna", "FACT#" + "x" * 90 + str(n)) for n in range(9))])
def test_a_write_that_does_not_say_what_it_changed_may_have_changed_anything(keys: tuple[Key, ...]) -> None:
    profile = Profile()
    version = profile.write(bump_version(ANNA, key(0)))
    profile.write(bump_version(ANNA, *keys))

    assert changes_since(version, profile.body) is None


def test_after_an_erasure_the_changes_are_unknown_although_the_count_could_match() -> None:
    before, after = Profile(), Profile()
    version = before.write(bump_version(ANNA, key(0)))
    for number in range(3):
        after.write(bump_version(ANNA, key(number)))

    assert changes_since(version, after.body) is None


def test_a_write_of_an_earlier_release_makes_the_changes_unknown() -> None:
    profile = Profile()
    version = profile.write(bump_version(ANNA, key(0)))
    profile.write(Update(profile_key(ANNA), add={"stamp": 1}, set={"mark": "f" * 32}))
    profile.write(bump_version(ANNA, key(1)))

    assert changes_since(version, profile.body) is None


@given(st.text(min_size=1, max_size=40).filter(lambda text: bool(text.strip()) and len(text.encode()) <= 128))
def test_activity_in_any_session_can_be_published(session: str) -> None:
    profile = Profile()
    version = profile.write(bump_version(ANNA, key(0)))
    profile.write(publish_activity(Scope("anna", session), "w1", "01ARZ3NDEKTSV4RRFFQ69G5FAV"))
    profile.write(publish_activity(Scope("anna", session), "w2", is_over=True))

    expected = [
        SessionActivity(session, "w1", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
        SessionActivity(session, "w2", is_over=True),
    ]
    assert changes_since(version, profile.body) == [MemoriesChanged(())] * 2
    assert activity_since(0, profile.body) == (expected, False)
    assert activity_since(2, profile.body) == ([], False)


def test_changed_memories_do_not_push_out_published_activity() -> None:
    profile = Profile()
    profile.write(publish_activity(Scope("anna", "talk"), "w1"))
    for number in range(20):
        profile.write(bump_version(ANNA, key(number)))

    assert activity_since(0, profile.body) == ([SessionActivity("talk", "w1")], False)


def test_too_many_activities_are_reported_as_lost() -> None:
    profile = Profile()
    for number in range(PUSHED_KEPT + 1):
        profile.write(publish_activity(Scope("anna", f"talk {number}"), "w1"))

    activities, are_lost = activity_since(0, profile.body)

    assert are_lost
    assert len(activities) == PUSHED_KEPT
    assert activity_since(activity_count(profile.body) + 1, profile.body)[1]  # the user was erased, and began anew
