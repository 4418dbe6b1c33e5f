"""How long a session lives, and which turns make way when it grows too long."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.sessions.limits import Limits, Tier, Weight, lifetime, trimmed

weights = st.lists(st.builds(Weight, st.integers(0, 500), st.sampled_from([0.1, 0.5, 0.9])), max_size=40)


@pytest.mark.parametrize(
    ("tier", "turns", "minutes"),
    [
        (Tier.STANDARD, 1, 30),
        (Tier.STANDARD, 9, 30),
        (Tier.STANDARD, 10, 45),
        (Tier.PREMIUM, 7, 45),
        (Tier.PREMIUM, 8, 60),
        (Tier.VIP, 4, 60),
        (Tier.VIP, 5, 120),
    ],
)
def test_tier_and_depth_extend_the_life_of_a_session(tier: Tier, turns: int, minutes: int) -> None:
    assert lifetime(tier, turns) == timedelta(minutes=minutes)


def test_the_least_important_turn_makes_way_first_and_the_oldest_among_equals() -> None:
    turns = [Weight(10, 0.1), Weight(10, 0.9), Weight(10, 0.2), Weight(10, 0.2), Weight(10, 0.1)]

    assert trimmed(turns, Limits(tokens=40)) == [2]
    assert trimmed(turns, Limits(tokens=30)) == [2, 3]
    assert trimmed(turns, Limits(turns=2)) == [1, 2, 3]


@given(weights, st.integers(1, 5000), st.integers(2, 30))
def test_what_stays_fits_or_is_only_the_first_and_the_last_turn(turns: list[Weight], tokens: int, most: int) -> None:
    gone = trimmed(turns, Limits(tokens, most))
    kept = [place for place in range(len(turns)) if place not in gone]

    assert not {0, len(turns) - 1} & set(gone)
    fits = sum(turns[place].tokens for place in kept) <= tokens and len(kept) <= most
    assert fits or len(kept) <= 2
