"""The encodings that travel, compared with those of the client."""

from decimal import Decimal

import pytest
from amazondax import LexDecimal
from amazondax.CborEncoder import CborEncoder
from hypothesis import given
from hypothesis import strategies as st

from tests.dax_server.cbor import Reader, encoded
from tests.dax_server.sortable_numbers import number_from, number_to

_WHOLE = st.integers(-(10**38) + 1, 10**38 - 1)
_DECIMALS = st.decimals(-(10**15), 10**15, places=6, allow_nan=False).map(lambda number: f"{number.normalize():f}")
_SCALARS = st.none() | st.booleans() | _WHOLE | st.text() | st.binary()
_VALUES = st.recursive(_SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(_VALUES)
def test_any_value_comes_back_as_it_was(value: object) -> None:
    assert Reader(encoded(value)).value() == value


@given(_DECIMALS)
def test_a_number_of_the_client_is_the_same_number_here(text: str) -> None:
    sent = CborEncoder().append_number(text).as_bytes()

    assert Decimal(Reader(sent).value()) == Decimal(text)


@given(_DECIMALS | _WHOLE.map(str))
def test_a_numeric_sort_key_has_the_bytes_of_the_client(text: str) -> None:
    assert number_to(text) == LexDecimal.encode(Decimal(text))
    assert Decimal(number_from(number_to(text))) == Decimal(text)


@given(_DECIMALS, _DECIMALS)
def test_the_order_of_the_bytes_is_the_order_of_the_numbers(one: str, other: str) -> None:
    assert (number_to(one) < number_to(other)) == (Decimal(one) < Decimal(other))


@pytest.mark.parametrize("text", ["1E+100", "-1E+100", "1E-100", "-2.5E-99"])
def test_a_number_far_from_one_keeps_its_exponent(text: str) -> None:
    assert number_to(text) == LexDecimal.encode(Decimal(text))
    assert Decimal(number_from(number_to(text))) == Decimal(text)
