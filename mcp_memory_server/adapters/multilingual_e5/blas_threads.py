"""Keeps numpy's matrix products on one thread.

They are so small here that a second thread saves little. On a busy machine it costs a lot: OpenBLAS threads spin while
they wait for each other, and a question of 10 ms then takes up to a second.
"""

import ctypes
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np

_SUFFIXES = ("64_", "")
_PREFIXES = ("scipy_", "")
_PLACES = ("../numpy.libs", ".dylibs")
"""Where numpy's wheels keep OpenBLAS, seen from numpy's folder."""

_lock = threading.Lock()
_users = 0
_usual = 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let OpenBLAS use one thread while the block runs, and then as many as before.

    The setting belongs to the whole process: other matrix products in it get one thread too. With another
    library than OpenBLAS nothing happens.
    """
    _enter()
    try:
        yield
    finally:
        _leave()


def number_of_blas_threads() -> int | None:
    """Return how many threads OpenBLAS may use now; None if numpy uses another library."""
    threads = _openblas()
    return threads[0]() if threads else None


def _enter() -> None:
    global _users, _usual
    with _lock:
        _users += 1
        if _users == 1 and (threads := _openblas()) is not None:
            get, put = threads
            _usual = get()
            put(1)


def _leave() -> None:
    global _users
    with _lock:
        _users -= 1
        if _users == 0 and (threads := _openblas()) is not None:
            _, put = threads
            put(_usual)


@cache
def _openblas() -> tuple[Callable[[], int], Callable[[int], None]] | None:
    """Return the functions that read and set the number of threads; None if numpy does not use OpenBLAS."""
    folder = Path(np.__file__).parent
    for file in [file for place in _PLACES for file in (folder / place).glob("*openblas*")]:
        library = ctypes.CDLL(str(file.resolve()))
        for prefix in _PREFIXES:
            for suffix in _SUFFIXES:
                get = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
                put = getattr(library, f"{prefix}openblas_set_num_threads{suffix}", None)
                if get is not None and put is not None:
                    return get, put
    return None
