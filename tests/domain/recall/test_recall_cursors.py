"""A cursor leads on from where an answer ended, whatever has come and gone since."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.recall.cursors import Place, place_from
from mcp_memory_server.errors import InvalidRequestError

names = st.text(min_size=1, max_size=9)


@given(st.integers(0, 500), names)
def test_a_cursor_is_read_back(told: int, last: str) -> None:
    assert place_from(Place().cursor_after(told, last)) == Place(told, last)


def test_it_goes_on_after_the_memory_that_was_told_last() -> None:
    assert Place(2, "b").start(["a", "b", "c"]) == 2
    assert Place(2, "b").start(["new", "a", "b", "c"]) == 3


def test_if_that_memory_is_gone_it_goes_on_where_it_was() -> None:
    assert Place(2, "gone").start(["a", "c", "d"]) == 2
    assert Place(9, "gone").start(["a"]) == 1


@pytest.mark.parametrize("cursor", ["", "x", "1", "1.", ".a", "-1.a", "1234567.a", "².a"])
def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(InvalidRequestError, match="not one of recall's"):
        place_from(cursor)
