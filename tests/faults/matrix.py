"""The fault matrix: python -m tests.faults.matrix [--short] [--seed N] [--only NAME] [--minutes N] [--json FILE]

Every row injects one kind of fault so many times while turns are written and read, and counts what was lost, stored
twice, wrong, or seen by somebody else. A seed repeats a row, and its time is bounded: what was tried is counted, not
promised. The exit code is 1 if any number that has to be 0 is not.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from mcp_memory_server import Memory, NewTurn, Role, Scope, open_memory
from mcp_memory_server.errors import MemoryServerError
from tests.clock import FakeClock
from tests.engines.http_proxy import Asked, Fate, HttpProxy
from tests.engines.servers import dynamodb_local, redis_server
from tests.faults.appender import Task
from tests.faults.appenders import appending
from tests.faults.conversations import USER, Account, append, dynamodb_url, missing_from, settings, until_delivered
from tests.faults.test_damage import ROWS, body, everything, key
from tests.stores.tables import DynamoDbTables

SEED = 16
ZEROS = ("lost", "duplicated", "wrong", "crossed")
AT_ONCE = 8


@dataclass
class Row:
    """What one kind of fault did."""

    fault: str
    seed: int
    wanted: int
    tried: int = 0
    acknowledged: int = 0
    refused: int = 0
    lost: int = 0
    duplicated: int = 0
    wrong: int = 0
    crossed: int = 0
    seconds: float = 0.0

    async def tally(self, account: Account, memory: Memory) -> None:
        """Add what became of the turns of an account."""
        found = await account.tally(memory)
        self.acknowledged += found["acknowledged"]
        self.lost += found["lost"]
        self.duplicated += found["duplicated"]
        self.wrong += found["strange"] + found["miscounted"] + found["disordered"]


@dataclass(frozen=True)
class Run:
    """Where a row writes, its chance, and until when it may go on."""

    folder: Path
    chance: random.Random
    row: Row
    ends_at: float

    def goes_on(self) -> bool:
        """Whether there is more to try, and time for it. Each call counts as a try."""
        if self.row.tried >= self.row.wanted or time.monotonic() > self.ends_at:
            return False
        self.row.tried += 1
        return True

    def account(self) -> Account:
        return Account(self.chance.randrange(2**32))


Case = Callable[[Run], Awaitable[None]]


async def kills(run: Run) -> None:
    """Kill a process with SIGKILL while it appends."""
    account, chosen, first = run.account(), settings(run.folder), 0
    while run.goes_on():
        async with appending(chosen, Task(first=first, upto=first + 200)) as appender:
            told = await appender.acknowledged(run.chance.randrange(1, 40))
            await asyncio.sleep(run.chance.uniform(0, 0.02))
            told += await appender.kill()
        for content in told:
            account.note(Scope(USER, "chat"), content)
        account.may_be_there |= {f"turn {number}" for number in range(first, first + 200)}
        first += 200
    async with open_memory(chosen) as memory:
        await until_delivered(memory)
        await run.row.tally(account, memory)


async def terminations(run: Run) -> None:
    """End a server with SIGTERM while many calls are in flight."""
    account, chosen, first = run.account(), settings(run.folder), 0
    while run.goes_on():
        async with appending(chosen, Task(first=first, upto=first + 100)) as appender:
            told = await appender.acknowledged(run.chance.randrange(1, 60))
            appender.terminate()
            told += await appender.acknowledged()
        for content in told:
            account.note(Scope(USER, "chat"), content)
        account.may_be_there |= {f"turn {number}" for number in range(first, first + 100)}
        first += 100
    async with open_memory(chosen) as memory:
        await until_delivered(memory)
        await run.row.tally(account, memory)


async def torn_logs(run: Run) -> None:
    """Cut the write-ahead log behind what was acknowledged, as a power loss may, and add garbage."""
    file, log = run.folder / "memory.db", run.folder / "memory.db-wal"
    account = run.account()
    async with open_memory(settings(run.folder)) as memory:
        scope = Scope(USER, "chat")
        while run.goes_on():
            await account.append(memory, scope, f"turn {run.row.tried}")
            after = log.stat().st_size
            torn = run.folder / "torn"
            torn.mkdir()
            shutil.copy(file, torn / "memory.db")
            kept = log.read_bytes()[:after] + run.chance.randbytes(run.chance.randrange(5000))
            (torn / "memory.db-wal").write_bytes(kept)
            async with open_memory(settings(torn)) as copy:
                await run.row.tally(account, copy)
            shutil.rmtree(torn)


async def flips(run: Run) -> None:
    """Flip one bit of the file: what is answered is right, or the damage is reported."""
    from mcp_memory_server.adapters.sqlite.item_table import SqliteItemTable
    from mcp_memory_server.domain.kernel.items import Put

    path = run.folder / "memory.db"
    table = await SqliteItemTable.open(path)
    for number in range(0, ROWS, 10):
        await table.write([Put(key(n), body(n)) for n in range(number, number + 10)])
    await table.close()
    original = path.read_bytes()
    while run.goes_on():
        damaged = bytearray(original)
        damaged[run.chance.randrange(len(original))] ^= 1 << run.chance.randrange(8)
        path.write_bytes(damaged)
        try:
            answer = await everything(path)
        except MemoryServerError:
            run.row.refused += 1
        else:
            readable = {item.key.sk: item.body for item in answer if not item.is_damaged}
            expected = {key(number).sk: body(number) for number in range(ROWS)}
            run.row.acknowledged += len(readable)
            run.row.wrong += sum(expected[sk] != found for sk, found in readable.items())
            run.row.wrong += len(readable) == len(answer) < ROWS  # it says that it is all there is


async def redis_restarts(run: Run) -> None:
    """Kill the Redis that caches sessions, and start it empty, while two processes talk."""
    account = run.account()
    with redis_server(run.folder) as redis:
        chosen = settings(run.folder, sessions=redis.url)
        async with open_memory(chosen) as one, open_memory(chosen) as other:
            while run.goes_on():
                scope = Scope(USER, f"session {run.row.tried % 5}")
                for writer, text in ((one, "a"), (other, "b")):
                    await account.append(writer, scope, f"turn {run.row.tried}{text}")
                if run.chance.random() < 0.5:
                    await asyncio.to_thread(redis.kill)
                    await account.append(one, scope, f"turn {run.row.tried} without Redis")
                    await asyncio.to_thread(redis.start)
                else:
                    await asyncio.to_thread(redis.kill)
                    await asyncio.to_thread(redis.start)
                said = account.acknowledged[scope][-15:]
                loaded = await run.chance.choice((one, other)).conversations.load(scope, turns=15)
                run.row.wrong += len(missing_from(loaded, said))
            await until_delivered(one)
            await run.row.tally(account, one)


async def evictions(run: Run) -> None:
    """Use a Redis that evicts sessions because it is full."""
    account = run.account()
    with redis_server(run.folder, "--maxmemory", "2mb", "--maxmemory-policy", "allkeys-lru") as redis:
        async with open_memory(settings(run.folder, sessions=redis.url)) as memory:
            while run.goes_on():
                scope = Scope(USER, f"session {run.chance.randrange(200)}")
                await account.append(memory, scope, f"turn {run.row.tried} {'x' * 3000}")
                loaded = await memory.conversations.load(scope)
                run.row.wrong += len(missing_from(loaded, account.acknowledged[scope][-1:]))
            await until_delivered(memory)
            await run.row.tally(account, memory)


async def throttled(run: Run) -> None:
    """Refuse a tenth of all requests to DynamoDB because too much is asked."""
    await _on_dynamodb(run, lambda _: Fate.IS_THROTTLED if run.chance.random() < 0.1 else Fate.PASSES)


async def lost_replies(run: Run) -> None:
    """Do what is asked of DynamoDB, and lose the reply to every tenth write."""

    def decide(asked: Asked) -> Fate:
        is_write = asked.operation in ("PutItem", "UpdateItem", "TransactWriteItems")
        return Fate.LOSES_ITS_REPLY if is_write and run.chance.random() < 0.1 else Fate.PASSES

    await _on_dynamodb(run, decide)


async def _on_dynamodb(run: Run, decide: Callable[[Asked], Fate]) -> None:
    account = run.account()
    with dynamodb_local(run.folder / "engine.log") as endpoint, ExitStack() as stack:
        address = await asyncio.to_thread(lambda: stack.enter_context(DynamoDbTables(endpoint).fresh()))
        async with HttpProxy(endpoint) as proxy:
            chosen = settings(run.folder, table=dynamodb_url(address.table, proxy.endpoint))
            async with open_memory(chosen) as memory:
                proxy.decide(decide)
                await _write_at_once(run, account, memory)
                await until_delivered(memory)
                proxy.decide(lambda _: Fate.PASSES)
                await run.row.tally(account, memory)
        await asyncio.to_thread(stack.close)


async def _write_at_once(run: Run, account: Account, memory: Memory) -> None:
    async def write(number: int) -> None:
        while run.goes_on():
            content = f"turn {run.row.tried} of {number}"
            account.may_be_there.add(content)
            try:
                await account.append(memory, Scope(USER, f"session {number}"), content)
            except MemoryServerError:
                run.row.refused += 1

    await asyncio.gather(*(write(number) for number in range(AT_ONCE)))


async def repeated_calls(run: Run) -> None:
    """Send every call up to five times at once under one operation id, and once more through another process."""
    account = run.account()
    async with open_memory(settings(run.folder)) as one, open_memory(settings(run.folder)) as other:
        while run.goes_on():
            scope, content = Scope(USER, f"session {run.row.tried % 5}"), f"turn {run.row.tried}"
            times = run.chance.randrange(1, 6)
            sent = await asyncio.gather(*(append(one, scope, content) for _ in range(times)))
            sent.append(await append(other, scope, content))
            run.row.wrong += len({each.turn.id for each in sent}) - 1
            account.note(scope, content)
        await run.row.tally(account, one)


async def cancelled_calls(run: Run) -> None:
    """Cancel a call at a random moment: it happened as a whole or not at all."""
    account = run.account()
    async with open_memory(settings(run.folder)) as memory:
        while run.goes_on():
            scope, content = Scope(USER, f"session {run.row.tried % 5}"), f"turn {run.row.tried}"
            account.may_be_there.add(content)
            call = asyncio.create_task(append(memory, scope, content))
            await asyncio.sleep(run.chance.uniform(0, 0.004))
            call.cancel()
            with suppress(asyncio.CancelledError):
                await call
                account.note(scope, content)
            await account.append(memory, scope, f"{content}, after it")
        await run.row.tally(account, memory)


async def clock_steps(run: Run) -> None:
    """Step the clock by up to an hour, in both directions, between calls."""
    account, clock = run.account(), FakeClock()
    async with open_memory(settings(run.folder), now=clock) as memory:
        while run.goes_on():
            clock.advance(timedelta(seconds=run.chance.uniform(-3600, 3600)))
            await account.append(memory, Scope(USER, f"session {run.row.tried % 5}"), f"turn {run.row.tried}")
        await run.row.tally(account, memory)


async def hostile_ids(run: Run) -> None:
    """Write as one user and read as another whose ids look alike: nothing crosses."""
    parts = ("a", "b", "#", "/", "~", "%", "%23", "\u200b", "\u0301", "ä", "A", ":", "*", " ", "USER#", "TURN#")
    async with open_memory(settings(run.folder)) as memory:
        while run.goes_on():
            ids = ["".join(run.chance.choices(parts, k=run.chance.randrange(1, 6))) + "x" for _ in range(4)]
            one, other = Scope(ids[0], ids[1]), Scope(ids[2], ids[3])
            if one == other:
                continue
            marker = f"marker {run.row.tried}"
            await memory.conversations.append(one, NewTurn(Role.USER, marker))
            found = await memory.conversations.load(other, turns=100)
            run.row.crossed += sum(turn.content == marker for turn in found.turns)
            own = await memory.conversations.load(one, turns=100)
            run.row.lost += all(turn.content != marker for turn in own.turns)
            run.row.acknowledged += 1


CASES: dict[str, tuple[Case, int, int]] = {
    "kill -9": (kills, 1000, 3),
    "SIGTERM under load": (terminations, 100, 2),
    "torn write-ahead logs": (torn_logs, 200, 20),
    "bit flips": (flips, 1000, 100),
    "Redis restarts": (redis_restarts, 100, 4),
    "evicting Redis": (evictions, 5000, 300),
    "throttled DynamoDB": (throttled, 10_000, 200),
    "lost replies of DynamoDB": (lost_replies, 2000, 100),
    "repeated calls": (repeated_calls, 10_000, 200),
    "cancelled calls": (cancelled_calls, 1000, 100),
    "clock steps": (clock_steps, 10_000, 300),
    "hostile ids": (hostile_ids, 20_000, 300),
}
"""Each with how often it is tried, and how often in a short run."""

MIXED = ("torn write-ahead logs", "bit flips", "repeated calls", "cancelled calls", "clock steps", "hostile ids")


async def one_row(name: str, seed: int, wanted: int, seconds: float) -> Row:
    """Try one kind of fault."""
    row, began = Row(name, seed, wanted), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        await CASES[name][0](Run(Path(folder), random.Random(f"{name} {seed}"), row, began + seconds))
    row.seconds = round(time.monotonic() - began, 1)
    return row


async def mix(seed: int, seconds: float) -> Row:
    """Try kinds of faults in a random order until the time is over."""
    chance, began = random.Random(f"mix {seed}"), time.monotonic()
    total = Row("random mix", seed, 0)
    while time.monotonic() - began < seconds:
        row = await one_row(chance.choice(MIXED), chance.randrange(2**32), 50, 60)
        for field in ("tried", "acknowledged", "refused", *ZEROS):
            setattr(total, field, getattr(total, field) + getattr(row, field))
    total.wanted, total.seconds = total.tried, round(time.monotonic() - began, 1)
    return total


async def run_all(chosen: argparse.Namespace) -> list[Row]:
    """Run the rows, one after the other."""
    rows: list[Row] = []
    for name, (_, often, seldom) in CASES.items():
        if chosen.only in (None, name):
            rows.append(await one_row(name, chosen.seed, seldom if chosen.short else often, chosen.minutes * 60))
            _show(rows[-1])
    if chosen.only is None:
        rows.append(await mix(chosen.seed, 10 if chosen.short else 60 * chosen.mix_minutes))
        _show(rows[-1])
    return rows


def failed(rows: list[Row]) -> list[str]:
    """Return the rows with a number that has to be 0 and is not."""
    return [row.fault for row in rows if any(getattr(row, name) for name in ZEROS)]


def _show(row: Row) -> None:
    print(json.dumps(asdict(row)), flush=True)


def main() -> int:
    """Run the matrix and write it down."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="a hundredth of it, in a minute or two")
    parser.add_argument("--seed", type=int, default=SEED, help="repeats a run (default: %(default)s)")
    parser.add_argument("--only", choices=CASES, help="one row")
    parser.add_argument("--minutes", type=float, default=10, help="the most for one row (default: %(default)s)")
    parser.add_argument("--mix-minutes", type=float, default=30, help="the random mix (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="where to write the rows")
    chosen = parser.parse_args()
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"):
        os.environ.setdefault(name, "eu-central-1" if name.endswith("REGION") else "test")
    rows = asyncio.run(run_all(chosen))
    if chosen.json:
        kept: dict[str, Any] = {}
        if chosen.only and chosen.json.exists():
            kept = {row["fault"]: row for row in json.loads(chosen.json.read_text())}
        kept |= {row.fault: asdict(row) for row in rows}
        chosen.json.write_text(json.dumps(list(kept.values()), indent=1) + "\n")
    for name in failed(rows):
        print(f"{name}: a number that has to be 0 is not")
    return int(bool(failed(rows)))


if __name__ == "__main__":
    sys.exit(main())
