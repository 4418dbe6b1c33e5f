"""The rate of hits is that of the last minutes: what was long ago does not hide what is happening now."""

from mcp_memory_server.adapters.opentelemetry.hit_rates import WINDOW_MINUTES, RecentReads


def test_the_rate_is_the_share_of_hits() -> None:
    recent = RecentReads()

    rates = [recent.add(hit=hit, seconds=1.0) for hit in (True, False, True, True)]

    assert rates == [100, 50, 200 / 3, 75]


def test_what_is_older_than_the_window_no_longer_counts() -> None:
    recent = RecentReads()
    for _ in range(1000):
        recent.add(hit=True, seconds=30.0)

    within = recent.add(hit=False, seconds=60.0 * (WINDOW_MINUTES - 1))
    after = recent.add(hit=False, seconds=60.0 * WINDOW_MINUTES)

    assert within > 99
    assert after == 0
