"""Measure conversations on Redis and DynamoDB Local. README.md beside this file says what each figure means.

make bench-conversations                                      all of it, about seven minutes
python tests/bench/conversations.py requests hang             only these
python tests/bench/conversations.py --json figures.json       for programs as well
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

from tests.bench.beside_agent_squad import measure_beside_agent_squad
from tests.bench.costs import measure_costs
from tests.bench.figures import Figures, print_figures
from tests.bench.hung_redis import measure_hung_redis
from tests.bench.long_sessions import measure_long_sessions
from tests.bench.many_sessions import measure_many_sessions
from tests.bench.requests_per_operation import measure_requests
from tests.bench.stage import Stage, on_stage

MEASUREMENTS: Mapping[str, Callable[[Stage], Coroutine[Any, Any, Figures]]] = {
    "requests": measure_requests,
    "long": measure_long_sessions,
    "many": measure_many_sessions,
    "hang": measure_hung_redis,
    "squad": measure_beside_agent_squad,
    "costs": measure_costs,
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("only", nargs="*", metavar="WHAT", help=f"some of {', '.join(MEASUREMENTS)} (default: all)")
    options.add_argument("--json", type=Path, metavar="FILE", help="write the figures to this file too")
    chosen = options.parse_args()
    if unknown := set(chosen.only) - set(MEASUREMENTS):
        options.error(f"{sorted(unknown)[0]!r} is not one of {', '.join(MEASUREMENTS)}")
    figures: dict[str, Figures] = {}
    for name in chosen.only or MEASUREMENTS:
        # Engines of its own for each, so that none measures what another left behind.
        with tempfile.TemporaryDirectory() as folder, on_stage(Path(folder)) as stage:
            figures[name] = asyncio.run(MEASUREMENTS[name](stage))
        print_figures(figures[name])
    if chosen.json is not None:
        chosen.json.write_text(json.dumps({name: vars(one) for name, one in figures.items()}, indent=2) + "\n")


if __name__ == "__main__":
    main()
