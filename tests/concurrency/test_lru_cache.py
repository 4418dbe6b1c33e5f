"""The cache keeps what was used last, and its limits hold whatever is done with it."""

from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_server.concurrency.lru_cache import LruCache


def cache_of(*keys: str, most: int = 3) -> LruCache[str, int]:
    cache = LruCache[str, int](most)
    for number, key in enumerate(keys):
        cache.put(key, number)
    return cache


def keys_of(cache: LruCache[str, int]) -> list[str]:
    return [key for key, _ in cache.items()]


def test_the_entry_used_least_recently_is_evicted() -> None:
    cache = cache_of("a", "b", "c")

    cache.get("a")
    cache.put("d", 4)

    assert keys_of(cache) == ["c", "a", "d"]


def test_listing_entries_and_asking_for_a_key_do_not_count_as_use() -> None:
    cache = cache_of("a", "b", "c")

    assert "a" in cache
    assert cache.items()[0] == ("a", 0)
    cache.put("d", 4)

    assert "a" not in cache


def test_a_value_is_made_once() -> None:
    cache = LruCache[str, object](3)

    first = cache.get_or_add("a", object)

    assert cache.get_or_add("a", object) is first
    assert cache.get("b") is None


def test_an_entry_that_was_removed_is_returned_and_leaves_room() -> None:
    cache = cache_of("a", "b", "c")

    removed = cache.pop("a"), cache.pop("a")
    cache.put("d", 4)

    assert (removed, keys_of(cache)) == ((0, None), ["b", "c", "d"])


def test_the_total_weight_is_limited_but_one_entry_always_fits() -> None:
    cache = LruCache[str, str](10, weight=len, most_weight=10)

    for key, value in (("a", "1234"), ("b", "1234"), ("c", "123"), ("d", "x" * 50)):
        cache.put(key, value)
        if key == "c":
            assert [name for name, _ in cache.items()] == ["b", "c"]

    assert [name for name, _ in cache.items()] == ["d"]


def test_an_entry_that_grew_is_weighed_again() -> None:
    cache = LruCache[str, list[int]](10, weight=len, most_weight=5)
    old, grown = [1, 2], [1]
    cache.put("old", old)
    cache.put("grown", grown)

    grown += [2, 3, 4]
    cache.weigh_again("grown", grown)
    cache.weigh_again("old", old)  # it is not there any more

    assert cache.items() == [("grown", grown)]


def test_entries_that_must_stay_are_passed_over() -> None:
    cache = LruCache[str, int](2, may_evict=lambda value: value != 0)

    for key, value in (("busy", 0), ("idle", 1), ("new", 2)):
        cache.put(key, value)

    assert keys_of(cache) == ["busy", "new"]


def test_what_is_evicted_is_reported_and_what_is_removed_is_not() -> None:
    evicted: list[tuple[str, int]] = []
    cache = LruCache[str, int](1, on_evict=lambda key, value: evicted.append((key, value)))

    cache.put("a", 1)
    cache.put("b", 2)
    cache.pop("b")

    assert evicted == [("a", 1)]


def test_no_update_of_another_thread_is_lost() -> None:
    cache = LruCache[str, int](2)

    with ThreadPoolExecutor(8) as threads:
        for _ in range(2000):
            threads.submit(cache.update, "count", lambda count: (count or 0) + 1)

    assert cache.get("count") == 2000


@given(st.lists(st.tuples(st.sampled_from(["get", "put", "pop"]), st.integers(0, 6))), st.integers(1, 4))
def test_it_holds_exactly_the_entries_used_last(steps: list[tuple[str, int]], most: int) -> None:
    cache, model = LruCache[int, int](most), OrderedDict[int, int]()

    for number, (step, key) in enumerate(steps):
        if step == "put":
            cache.put(key, number)
            model[key] = number
        elif step == "pop":
            assert cache.pop(key) == model.pop(key, None)
        else:
            assert cache.get(key) == model.get(key)
        if key in model:
            model.move_to_end(key)
        while len(model) > most:
            model.popitem(last=False)
        assert cache.items() == list(model.items())
