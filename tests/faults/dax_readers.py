"""Several programs that read and write through one cluster at once, and what they saw together."""

import asyncio
import bisect
import json
import sys
from asyncio.subprocess import PIPE
from collections import defaultdict
from dataclasses import dataclass, replace

from tests.faults.clients import ROOT
from tests.faults.dax_reader import Saw, Task


@dataclass(frozen=True)
class Together:
    """``stale`` reads missed a write of their own process. ``behind`` ones missed one of another process, which was
    acknowledged at most ``seconds`` before."""

    reads: int
    writes: int
    stale: int
    behind: int
    seconds: float


async def read_together(task: Task, programs: int) -> Together:
    """Run so many programs, each with its share of the operations."""
    share = task.operations // programs
    all_saw = await asyncio.gather(*(_run(replace(task, number=one, operations=share)) for one in range(programs)))
    behind = _ages(
        [count for saw in all_saw for count in saw.raised], [read for saw in all_saw for read in saw.counted]
    )
    return Together(
        reads=sum(saw.reads for saw in all_saw),
        writes=sum(saw.writes for saw in all_saw),
        stale=sum(saw.stale for saw in all_saw),
        behind=len(behind),
        seconds=max(behind, default=0.0),
    )


async def _run(task: Task) -> Saw:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.faults.dax_reader", task.text(), cwd=ROOT, stdout=PIPE
    )
    told, _ = await process.communicate()
    assert process.returncode == 0
    return Saw(**json.loads(told))


def _ages(raised: list[tuple[float, int, int]], counted: list[tuple[float, int, int]]) -> list[float]:
    """Return, for each read that missed what anybody had been told before it began, for how long it had been so."""
    moments: dict[int, list[float]] = defaultdict(list)
    highest: dict[int, list[int]] = defaultdict(list)
    for moment, place, count in sorted(raised):
        moments[place].append(moment)
        highest[place].append(max(count, highest[place][-1] if highest[place] else 0))
    ages = []
    for began, place, count in counted:
        known = bisect.bisect_left(moments[place], began)
        if known and highest[place][known - 1] > count:
            first_missed = bisect.bisect_right(highest[place], count)
            ages.append(began - moments[place][first_missed])
    return ages
