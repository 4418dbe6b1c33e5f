"""Prices and ceilings are parsed, and no allowed amount exceeds a limit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.domain.kernel.spending import (
    DEFAULT_CEILING,
    Ceiling,
    Limit,
    Price,
    Spent,
    Tokens,
    parse_ceiling,
    parse_prices,
    price_of,
)
from mcp_memory_server.errors import ConfigurationError

AMOUNTS = st.integers(min_value=0, max_value=10**12)


def test_a_ceiling_is_read_as_it_is_typed() -> None:
    assert parse_ceiling("dollars=2.5, user-tokens=10_000") == Ceiling(Limit(micros=2_500_000), Limit(tokens=10_000))
    assert parse_ceiling(DEFAULT_CEILING) == Ceiling(Limit(micros=10_000_000), Limit(micros=100_000))
    assert parse_ceiling("none") == Ceiling()


@pytest.mark.parametrize("text", ["10", "dollars", "dollars=", "dollars=nan", "dollars=-1", "cents=3", "tokens=inf"])
def test_an_invalid_ceiling_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="dollars=10"):
        parse_ceiling(text)


def test_a_configured_price_overrides_the_default() -> None:
    prices = parse_prices("claude-haiku-5-5=1/2, nova-lite=0.06/0.24")

    assert price_of("eu.anthropic.claude-haiku-5-5-v1:0", prices) == Price(1, 2)
    assert price_of("amazon.nova-lite-v1:0", prices) == Price(0.06, 0.24)
    with pytest.raises(ConfigurationError, match="MCP_MEMORY_PRICES=zebra=INPUT/OUTPUT"):
        price_of("zebra", prices)


def test_a_million_tokens_cost_their_price() -> None:
    assert Price(0.10, 0.50).micros(Tokens(1_000_000, 1_000_000)) == 600_000


@given(AMOUNTS, AMOUNTS, st.none() | AMOUNTS, st.none() | AMOUNTS)
def test_an_allowed_amount_is_at_most_the_whole_limit(
    tokens: int, micros: int, most_tokens: int | None, most_micros: int | None
) -> None:
    limit, spent = Limit(most_tokens, most_micros), Spent(tokens, micros)

    if limit.allows(spent):
        assert limit.share(spent) <= 1
    else:
        assert limit.share(spent) >= 1
