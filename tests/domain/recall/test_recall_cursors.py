"""A cursor continues where a reply ended, whatever was added and removed since."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.recall.replies.cursors import Position, position_from
from mcp_memory_server.errors import InvalidRequestError

names = st.text(min_size=1, max_size=9)


@given(st.integers(0, 500), names)
def test_a_cursor_is_read_back(returned: int, last: str) -> None:
    assert position_from(Position().cursor_after(returned, last)) == Position(returned, last)


def test_the_next_page_starts_after_the_last_returned_memory() -> None:
    assert Position(2, "b").start(["a", "b", "c"]) == 2
    assert Position(2, "b").start(["new", "a", "b", "c"]) == 3


def test_if_that_memory_is_gone_the_next_page_starts_at_its_position() -> None:
    assert Position(2, "gone").start(["a", "c", "d"]) == 2
    assert Position(9, "gone").start(["a"]) == 1


@pytest.mark.parametrize("cursor", ["", "x", "1", "1.", ".a", "-1.a", "1234567.a", "².a"])
def test_an_invalid_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequestError, match="not one of recall's"):
        position_from(cursor)
