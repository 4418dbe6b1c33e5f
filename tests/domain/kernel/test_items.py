"""Values and sizes that the table can store, and the end of a range of sort keys with a prefix."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.items import (
    MAX_ITEM_BYTES,
    MAX_WRITES_AT_ONCE,
    Delete,
    Key,
    Update,
    after_prefix,
    check_operation_id,
    checked_body,
    checked_update,
    checked_writes,
    expiry_seconds,
    is_expired,
    item_size,
)
from mcp_memory_server.errors import InvalidRequestError, TooLargeError
from tests.domain.samples import NOON

KEY = Key("USER#anna", "FACT#city")

signs = st.text(
    st.sampled_from(["a", "b", "\x00", "\x7f", "é", "\ud7ff", "\ue000", "\uffff", "🦊", "\U0010ffff"]), max_size=4
)


@given(signs, signs)
def test_every_text_before_the_end_of_a_prefix_starts_with_it(prefix: str, text: str) -> None:
    end = after_prefix(prefix)

    inside = prefix.encode() <= text.encode() and (end is None or text.encode() < end.encode())

    assert inside == text.startswith(prefix)


@given(st.text(max_size=5), st.text(max_size=5))
def test_the_end_of_a_prefix_sorts_after_all_texts_that_start_with_it(prefix: str, rest: str) -> None:
    end = after_prefix(prefix)

    assert end is None or (prefix + rest).encode() < end.encode()


def test_an_empty_prefix_and_the_last_character_have_no_end() -> None:
    assert after_prefix("") is None
    assert after_prefix("\U0010ffff\U0010ffff") is None


@pytest.mark.parametrize(
    ("value", "stored"),
    [
        (1.0, 1),
        (0.5, 0.5),
        ((1, 2), [1, 2]),
        ({"a": (True, None)}, {"a": [True, None]}),
        (b"\x00", b"\x00"),
        (-0.0, 0),
        (1e20, 1e20),
    ],
)
def test_values_take_their_stored_form(value: Any, stored: object) -> None:
    assert checked_body(KEY, {"value": value}) == {"value": stored}


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        1e-131,
        1e126,
        10**38 + 1,
        {1, 2},
        object(),
        {1: "one"},
        "half \ud800",
        [b"x", {"a": "\udc00"}],
    ],
)
def test_values_that_no_table_can_store_are_refused(value: Any) -> None:
    with pytest.raises(InvalidRequestError, match="value"):
        checked_body(KEY, {"value": value})


@pytest.mark.parametrize("value", [10**37, -(10**38), 123 * 10**100, 2**53, 1e-130])
def test_numbers_that_every_table_can_keep_are_kept(value: float) -> None:
    assert checked_body(KEY, {"value": value}) == {"value": value}


def test_a_value_may_be_nested_but_not_without_end() -> None:
    deep: Any = "bottom"
    for _ in range(40):
        deep = [deep]

    with pytest.raises(InvalidRequestError, match="nested more than 30 levels"):
        checked_body(KEY, {"value": deep})


@pytest.mark.parametrize("name", ["pk", "sk", "version", "expires_at", "op", "", "n" * 256])
def test_reserved_and_invalid_attribute_names_are_refused(name: str) -> None:
    with pytest.raises(InvalidRequestError, match="attribute"):
        checked_body(KEY, {name: 1})


def test_the_largest_item_is_accepted_and_one_byte_more_is_not() -> None:
    room = MAX_ITEM_BYTES - item_size(KEY, {"text": ""})

    assert checked_body(KEY, {"text": "x" * room})
    with pytest.raises(TooLargeError, match="409,601"):
        checked_body(KEY, {"text": "x" * (room + 1)})


def test_a_size_counts_bytes_and_names() -> None:
    assert item_size(KEY, {"é": "🦊"}) - item_size(KEY, {}) == 2 + 4


@pytest.mark.parametrize(("pk", "sk"), [("", "a"), ("a", ""), ("p" * 2049, "a"), ("a", "s" * 1025), ("a", "\ud800")])
def test_a_key_that_no_table_takes_is_refused(pk: str, sk: str) -> None:
    with pytest.raises(InvalidRequestError):
        Key(pk, sk)


def test_an_update_changes_each_attribute_once() -> None:
    with pytest.raises(InvalidRequestError, match="twice"):
        Update(KEY, add={"count": 1}, set={"count": 2})
    with pytest.raises(InvalidRequestError, match="at least one"):
        Update(KEY)


def test_a_counter_is_raised_by_numbers_only() -> None:
    wrong: Any = {"count": True}

    with pytest.raises(InvalidRequestError, match="'count' can only be raised by a number"):
        checked_update(Update(KEY, add=wrong))


def test_writes_at_once_are_few_and_each_for_another_item() -> None:
    many = [Delete(Key("a", str(number))) for number in range(MAX_WRITES_AT_ONCE + 1)]

    checked_writes(many[1:])
    for refused in ([], many, [many[0], many[0]]):
        with pytest.raises(InvalidRequestError):
            checked_writes(refused)


@pytest.mark.parametrize("operation_id", ["", "o" * 129, "é" * 65])
def test_an_operation_id_that_cannot_be_kept_is_refused(operation_id: str) -> None:
    with pytest.raises(InvalidRequestError, match="operation_id must be 1 to 128 bytes long"):
        check_operation_id(operation_id)


def test_an_item_is_gone_at_the_second_of_its_expiry() -> None:
    seconds = expiry_seconds(NOON.replace(microsecond=999_999))

    assert seconds == int(NOON.timestamp())
    assert is_expired(seconds, NOON)
    assert not is_expired(seconds, NOON.replace(hour=11, minute=59, second=59, microsecond=999_999))
    assert not is_expired(expiry_seconds(None), NOON)
