"""Topics are paths, and every memory has an owner with a name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.facts.topics import MAX_TOPIC_BYTES, checked_prefix, checked_topic, is_under, same_topic
from mcp_memory_server.domain.kernel.scope import MAX_ID_BYTES, Scope
from mcp_memory_server.errors import InvalidRequestError

parts = st.text(st.sampled_from("ab#~%:é🦊"), min_size=1, max_size=3)
paths = st.lists(parts, min_size=1, max_size=4)


@given(paths, paths)
def test_a_topic_lies_under_every_beginning_of_its_path_and_nothing_else(path: list[str], other: list[str]) -> None:
    assert is_under("/".join(path), "/".join(other)) == (path[: len(other)] == other)


@pytest.mark.parametrize("sibling", ["ab", "a#b", "a b", "AB", "b/a"])
def test_a_sibling_with_a_longer_name_is_not_below(sibling: str) -> None:
    assert not is_under(sibling, "a")


def test_topics_are_compared_without_regard_to_case() -> None:
    assert is_under("Personal/Location", "personal")
    assert is_under("personal/location", "PERSONAL/Location")
    assert same_topic("Work/Employer", "work/employer")
    assert not same_topic(None, None)


def test_a_fact_without_a_topic_lies_under_none() -> None:
    assert not is_under(None, "a")


def test_a_prefix_may_end_with_a_slash() -> None:
    assert checked_prefix("personal/") == checked_prefix("personal") == "personal"


@pytest.mark.parametrize("topic", ["", "/", "a/", "/a", "a//b", " ", "a/ /b", "\n"])
def test_a_topic_with_an_empty_part_is_refused_with_an_example(topic: str) -> None:
    with pytest.raises(InvalidRequestError, match="personal/location/city"):
        checked_topic(topic)


def test_the_longest_topic_is_accepted_and_one_byte_more_is_not() -> None:
    assert checked_topic("é" * (MAX_TOPIC_BYTES // 2))
    with pytest.raises(InvalidRequestError, match="at most 256 bytes long, got 257"):
        checked_topic("t" * (MAX_TOPIC_BYTES + 1))


@pytest.mark.parametrize("user", ["anna", "a#b", "a/b", "é🦊", "line\nbreak", "\x00", "u" * MAX_ID_BYTES])
def test_an_owner_may_have_any_name(user: str) -> None:
    assert Scope(user).user_id == user


@pytest.mark.parametrize("user", ["", " ", "\n\t", "u" * (MAX_ID_BYTES + 1), "é" * MAX_ID_BYTES])
def test_an_owner_without_a_name_or_with_too_long_a_one_is_refused(user: str) -> None:
    with pytest.raises(InvalidRequestError, match="user_id must be 1 to 128 bytes long and not blank"):
        Scope(user)


def test_a_lone_surrogate_is_refused_as_an_owner_and_as_a_topic() -> None:
    with pytest.raises(InvalidRequestError, match="user_id is not valid Unicode"):
        Scope("\ud800")
    with pytest.raises(InvalidRequestError, match="topic is not valid Unicode"):
        checked_topic("a/\udfff")
