"""An append stays short: counted in calls and files, which do not depend on the machine."""

from pathlib import Path

import pytest

from tests.bench.product_calls import calls_of_a_superseding_fact, calls_of_an_append, counted_memory

pytestmark = pytest.mark.anyio

MOST_CALLS = 235
MOST_SERVICE_FILES = 6


async def test_an_append_without_redis_executes_few_files_and_checks_its_operation_once(tmp_path: Path) -> None:
    async with counted_memory(tmp_path, "none") as (memory, counter):
        calls = await calls_of_an_append(memory, counter)

    assert len(calls.service_files) <= MOST_SERVICE_FILES
    assert calls.total <= MOST_CALLS
    assert calls.functions["domain/sessions/turn_writes.py:__post_init__"] == 1


async def test_a_superseding_fact_computes_the_fingerprint_of_a_text_once_for_each_reading(tmp_path: Path) -> None:
    async with counted_memory(tmp_path, "none") as (memory, counter):
        calls = await calls_of_a_superseding_fact(memory, counter)

    assert calls.functions["domain/kernel/text.py:fingerprint"] <= 4
