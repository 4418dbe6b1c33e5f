"""Count the calls of product code that one operation makes, and the files of services that it executes.

python -m tests.bench.product_calls      on a SQLite file, without Redis and with a real one

A call is what `sys.setprofile` reports as one: of a Python function of the product, in the caller's thread or in one of
an adapter. The least of several repetitions is exact; what the background workers do beside it is left out.
"""

import asyncio
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import mcp_memory_server
from mcp_memory_server import NewTurn, Role, Scope
from mcp_memory_server.adapters.tiktoken.token_counter import load_exact
from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.sessions.limits import SETTLING
from mcp_memory_server.memory import Memory
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import open_memory
from tests.engines.servers import redis_server

PRODUCT = str(Path(mcp_memory_server.__file__).parent)
SERVICES = "services/"
BACKGROUND = ("memory-outbox", "memory-caretaker", "memory-finalizer", "memory-worker")
REPETITIONS = 7
SCOPE = Scope("anna", "chat 1")
HELLO = NewTurn(Role.USER, "Where is my order?")

Operation = Callable[[], Awaitable[object]]


@dataclass(frozen=True)
class ProductCalls:
    """How often each function of the product was called: ``<file>:<name>`` to a number."""

    functions: Counter[str]

    @property
    def total(self) -> int:
        return self.functions.total()

    @property
    def service_files(self) -> list[str]:
        return sorted({name.partition(":")[0] for name in self.functions if name.startswith(SERVICES)})

    def of(self, name: str) -> int:
        """Return how often functions of this name were called."""
        return sum(count for function, count in self.functions.items() if function.endswith(f":{name}"))


class CallCounter:
    """Counts calls while it is asked to. Made before the threads that it is to see."""

    def __init__(self) -> None:
        self._functions: Counter[str] | None = None
        threading.setprofile(self._note)

    async def fewest(self, operation: Operation, repetitions: int = REPETITIONS) -> ProductCalls:
        """Return the calls of the repetition that made the fewest."""
        counted = [await self._count(operation) for _ in range(repetitions)]
        return min(counted, key=lambda one: one.total)

    def close(self) -> None:
        threading.setprofile(None)  # type: ignore[arg-type]

    async def _count(self, operation: Operation) -> ProductCalls:
        self._functions = functions = Counter[str]()
        sys.setprofile(self._note)
        try:
            await operation()
        finally:
            sys.setprofile(None)
            self._functions = None
        return ProductCalls(functions)

    def _note(self, frame: FrameType, event: str, _: Any) -> None:
        functions, file = self._functions, frame.f_code.co_filename
        if functions is None or event != "call" or not file.startswith(PRODUCT):
            return
        if threading.current_thread().name.startswith(BACKGROUND):
            return
        functions[f"{file.removeprefix(PRODUCT)[1:]}:{frame.f_code.co_name}"] += 1


@asynccontextmanager
async def counted_memory(folder: Path, sessions: str) -> AsyncGenerator[tuple[Memory, CallCounter]]:
    """Open a memory as a server does, and what counts the calls in it."""
    load_exact()
    async with AsyncExitStack() as opened:
        counter = CallCounter()
        opened.callback(counter.close)
        settings = Settings(table=f"sqlite:///{folder / 'memory.db'}", sessions=sessions, embeddings="none")
        yield await opened.enter_async_context(open_memory(settings)), counter


async def calls_of_an_append(memory: Memory, counter: CallCounter) -> ProductCalls:
    """Return the calls of appending a turn to a session that was begun, and is in the cache where there is one."""
    await memory.conversations.append(SCOPE, HELLO)
    await asyncio.sleep(1.2 * SETTLING.total_seconds())
    for _ in range(2):
        await memory.conversations.append(SCOPE, HELLO)
    return await counter.fewest(lambda: memory.conversations.append(SCOPE, HELLO))


async def calls_of_a_load(memory: Memory, counter: CallCounter) -> ProductCalls:
    """Return the calls of loading a session that has ten turns or more."""
    for _ in range(10):
        await memory.conversations.append(SCOPE, HELLO)
    for _ in range(3):
        await memory.conversations.load(SCOPE)
    return await counter.fewest(lambda: memory.conversations.load(SCOPE))


async def calls_of_a_superseding_fact(memory: Memory, counter: CallCounter) -> ProductCalls:
    """Return the calls of learning a fact that replaces the one before."""
    cities = iter(range(100))
    last = (await memory.facts.learn(SCOPE, Statement("I live in city 0", "personal/city"))).fact.id

    async def move() -> None:
        nonlocal last
        statement = Statement(f"I live in city {next(cities) + 1}", "personal/city")
        last = (await memory.facts.learn(SCOPE, statement, replaces=last)).fact.id

    return await counter.fewest(move)


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with redis_server(folder) as redis:
            for engine, sessions in (("no Redis", "none"), ("Redis", redis.url)):
                at = folder / engine
                at.mkdir()
                async with counted_memory(at, sessions) as (memory, counter):
                    appended = await calls_of_an_append(memory, counter)
                    print_calls(f"append, sessions: {engine}", appended)
                    print_calls(f"load, sessions: {engine}", await calls_of_a_load(memory, counter))
                    if engine == "no Redis":
                        print_fact(await calls_of_a_superseding_fact(memory, counter))


def print_calls(what: str, calls: ProductCalls) -> None:
    print(f"{what}: {calls.total} calls, {len(calls.service_files)} files of services, ", end="")
    print(f"operation id checked {calls.of('check_operation_id')} times")
    for file in calls.service_files:
        print(f"    {file}")
    if "-v" in sys.argv:
        for function, count in sorted(calls.functions.items()):
            print(f"        {count:4} {function}")


def print_fact(calls: ProductCalls) -> None:
    fingerprints = calls.functions["domain/kernel/text.py:fingerprint"]
    lengths = calls.functions["domain/kernel/items.py:byte_length"]
    print(f"learn, replacing a fact: {calls.total} calls, {fingerprints} fingerprints, {lengths} byte lengths")
    if "-v" in sys.argv:
        for function, count in sorted(calls.functions.items()):
            print(f"        {count:4} {function}")


if __name__ == "__main__":
    asyncio.run(main())
