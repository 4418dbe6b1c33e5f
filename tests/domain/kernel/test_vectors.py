"""A vector keeps the direction of its numbers in one byte each."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.vectors import as_vector, closeness

NUMBERS = st.lists(st.floats(-1e6, 1e6), min_size=8, max_size=300)


def test_the_longest_coordinate_becomes_127_and_the_others_keep_their_share() -> None:
    assert list(memoryview(as_vector([0.5, -0.25, 0.0, 0.125])).cast("b")) == [127, -64, 0, 32]


def test_how_long_the_numbers_are_makes_no_difference() -> None:
    assert as_vector([3e-300, -1e-300]) == as_vector([3e300, -1e300])


@pytest.mark.parametrize("numbers", [[], [0.0, -0.0], [1.0, math.nan], [math.inf, 1.0], [math.inf, -math.inf]])
def test_numbers_without_a_direction_become_zeros(numbers: list[float]) -> None:
    assert as_vector(numbers) == bytes(len(numbers))


@given(NUMBERS)
def test_closeness_to_itself_is_1_and_to_its_opposite_is_minus_1(numbers: list[float]) -> None:
    vector, opposite = as_vector(numbers), as_vector([-number for number in numbers])

    assert closeness(vector, vector) == pytest.approx(1.0 if any(numbers) else 0.0)
    assert closeness(vector, opposite) == pytest.approx(-1.0 if any(numbers) else 0.0)


@given(st.lists(st.floats(-1, 1), min_size=256, max_size=256).filter(any))
def test_rounding_turns_a_vector_by_at_most_four_degrees(numbers: list[float]) -> None:
    rounded = memoryview(as_vector(numbers)).cast("b")

    cosine = sum(map(float.__mul__, numbers, map(float, rounded))) / math.hypot(*numbers) / math.hypot(*rounded)

    assert cosine > math.cos(math.radians(4))


def test_what_has_no_direction_is_close_to_nothing() -> None:
    assert closeness(bytes(3), as_vector([1.0, 2.0, 3.0])) == 0.0
