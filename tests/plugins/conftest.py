"""What every test of the plugins may use."""

import pytest

from tests.plugins.fake_monotonic import FakeMonotonic


@pytest.fixture
def monotonic() -> FakeMonotonic:
    return FakeMonotonic()
