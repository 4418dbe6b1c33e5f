"""Measure a memory behind DAX, on the cluster in tests/dax_server over DynamoDB Local.

make bench-dax                                     a day of 1,000 users, about five minutes
python -m tests.bench.dax --users 100              a smaller town
"""

import argparse
import asyncio
import os
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from mcp_memory_server import Settings
from mcp_memory_server.wiring import create_table
from tests.bench.dax_day import ENOUGH, figures_of, live_through
from tests.bench.dax_requests import measure_requests
from tests.bench.dax_stage import DaxStage
from tests.bench.figures import print_figures, verdict
from tests.bench.stage import NO_ACCOUNT, REGION
from tests.dax_server.running import dax_cluster
from tests.engines.servers import dynamodb_local

LAG = 0.2
ITEM_SECONDS = (60, 300)


@contextmanager
def on_dax_stage(folder: Path, item_seconds: int) -> Iterator[DaxStage]:
    with dynamodb_local(folder / "dynamodb.log") as endpoint:
        name = f"bench-{uuid.uuid4().hex}"
        settings = Settings(table=f"dynamodb://{name}?region={REGION}&endpoint={quote(endpoint, safe='')}")
        asyncio.run(create_table(settings, lambda _: None))
        options = ("--nodes", "2", "--lag", f"{LAG}", "--item-seconds", f"{item_seconds}")
        keys = ("--access-key", NO_ACCOUNT["AWS_ACCESS_KEY_ID"], "--secret-key", NO_ACCOUNT["AWS_SECRET_ACCESS_KEY"])
        with dax_cluster(endpoint, folder / "dax.log", *options, *keys) as cluster:
            yield DaxStage(cluster, endpoint, name)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--users", type=int, default=1_000)
    users = options.parse_args().users
    os.environ.update(NO_ACCOUNT)
    with tempfile.TemporaryDirectory() as folder, on_dax_stage(Path(folder), ITEM_SECONDS[0]) as stage:
        stage.cluster.lag(0)  # so that each count is what it always is
        print_figures(asyncio.run(measure_requests(stage)))
    days = {}
    for seconds in ITEM_SECONDS:
        with tempfile.TemporaryDirectory() as folder, on_dax_stage(Path(folder), seconds) as stage:
            days[seconds] = asyncio.run(live_through(stage, users))
    print_figures(figures_of(days, users))
    for seconds, (day, _) in days.items():
        holds = verdict(holds=day.active_percent > ENOUGH)
        print(f"  more than {ENOUGH:.0f} % of the reads of active users at an item TTL of {seconds} s: {holds}")


if __name__ == "__main__":
    main()
