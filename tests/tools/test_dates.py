"""Dates as people and models write them."""

from datetime import UTC, date, datetime, time, timedelta, timezone

import pytest

from mcp_memory_server import InvalidRequestError
from mcp_memory_server.tools.dates import moment_from

END_OF_DAY = datetime(2026, 3, 2, 23, 59, 59, 999999, tzinfo=UTC)


@pytest.mark.parametrize("text", ["2026-03-02", "20260302", "2026-W10-1"])
def test_a_date_means_the_end_of_that_day(text: str) -> None:
    assert moment_from(text) == END_OF_DAY


def test_a_time_without_a_zone_is_utc() -> None:
    assert moment_from("2026-03-02T10:00") == datetime(2026, 3, 2, 10, tzinfo=UTC)


def test_a_time_with_a_zone_keeps_it() -> None:
    assert moment_from("2026-03-02T10:00+02:00") == datetime(2026, 3, 2, 10, tzinfo=timezone(timedelta(hours=2)))


@pytest.mark.parametrize(("text", "last"), [("2024-02", date(2024, 2, 29)), ("2019", date(2019, 12, 31))])
def test_a_month_or_a_year_means_its_end(text: str, last: date) -> None:
    assert moment_from(text) == datetime.combine(last, time.max, UTC)


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "2026-02-30", "0000", "2026-3", "03/02/2026", "\ud800"])
def test_anything_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InvalidRequestError, match="as_of must be a date like 2026-03-02"):
        moment_from(text)
