"""Workers that share circuits through Redis: they open together, one of them probes, and none depends on Redis."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from redis import Redis

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules, CircuitState
from agent_plugins.breakers.redis_circuits import RedisCircuits, shared_circuits
from mcp_memory_server import ConfigurationError, UnavailableError
from tests.engines.servers import RedisServer
from tests.plugins.breakers.probers import probes_of_each_round

SHORT = BreakerRules(threshold=2, rest=0.05, probe_timeout=30.0)
LONG = BreakerRules(threshold=2, rest=60.0, probe_timeout=30.0)
TIMEOUT_SECONDS = 30


class Worker:
    """A process from the point of view of Redis: it has connections and an identity of its own."""

    def __init__(self, url: str, rules: BreakerRules) -> None:
        self.circuits = RedisCircuits(url)
        self.breaker = CircuitBreaker("search", rules, shared=self.circuits)
        self.circuits.flush()

    def fail(self) -> None:
        for _ in range(self.breaker.rules.threshold):
            self.breaker.ask().failed()
        self.circuits.flush()

    @property
    def state(self) -> CircuitState:
        return self.breaker.status().state

    def is_due(self) -> bool:
        status = self.breaker.status()
        return status.state is not CircuitState.CLOSED and status.retry_after == 0


MakeWorker = Callable[[str, BreakerRules], Worker]


@pytest.fixture
def worker() -> Iterator[MakeWorker]:
    made: list[Worker] = []

    def make(url: str, rules: BreakerRules) -> Worker:
        made.append(Worker(url, rules))
        return made[-1]

    yield make
    for one in made:
        one.circuits.close()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)  # until others were notified; it decides nothing


def test_ten_workers_open_together(own_redis: RedisServer, worker: MakeWorker) -> None:
    workers = [worker(own_redis.url, LONG) for _ in range(10)]

    workers[3].fail()

    until(lambda: all(one.state is CircuitState.OPEN for one in workers))
    assert not any(one.breaker.ask().allowed for one in workers)


def test_calls_that_go_well_or_are_refused_ask_redis_nothing(own_redis: RedisServer, worker: MakeWorker) -> None:
    well, broken = worker(own_redis.url, LONG), worker(own_redis.url, LONG)
    broken.fail()
    until(lambda: well.state is CircuitState.OPEN)
    healthy = CircuitBreaker("other tool", LONG, shared=well.circuits)
    well.circuits.flush()
    with Redis(port=own_redis.port) as client:
        before = evaluated(client)

        for _ in range(5000):
            healthy.ask().succeeded()
            assert not broken.breaker.ask().allowed

        # Each worker looks how its circuits stand every ten seconds, however many calls there are.
        assert evaluated(client) - before <= 3 * 2


def evaluated(client: Redis) -> int:
    """Return how many scripts Redis has run."""
    ran: dict[str, dict[str, int]] = client.info("commandstats")  # type: ignore[assignment]
    return sum(ran[name]["calls"] for name in ("cmdstat_eval", "cmdstat_evalsha") if name in ran)


def test_a_worker_that_starts_late_finds_the_circuit_open(own_redis: RedisServer, worker: MakeWorker) -> None:
    worker(own_redis.url, LONG).fail()

    late = worker(own_redis.url, LONG)

    until(lambda: late.state is CircuitState.OPEN)
    assert 0 < late.breaker.ask().retry_after <= LONG.rest


def test_a_probe_that_succeeds_closes_the_circuit_for_all(own_redis: RedisServer, worker: MakeWorker) -> None:
    one, other = worker(own_redis.url, SHORT), worker(own_redis.url, SHORT)
    one.fail()
    until(lambda: one.is_due() and other.is_due())

    probe = one.breaker.ask()
    assert probe.is_probe
    assert not other.breaker.ask().allowed
    probe.succeeded()

    until(lambda: other.state is CircuitState.CLOSED)
    assert other.breaker.ask().allowed


def test_an_abandoned_probe_frees_its_slot_for_this_worker_at_once_and_for_the_others(
    own_redis: RedisServer, worker: MakeWorker
) -> None:
    one, other = worker(own_redis.url, SHORT), worker(own_redis.url, SHORT)
    one.fail()
    until(lambda: one.is_due() and other.is_due())

    one.breaker.ask().abandoned()
    again = one.breaker.ask()
    assert again.is_probe
    again.abandoned()

    until(lambda: other.breaker.ask().is_probe)


def test_a_probe_that_hangs_frees_its_slot_for_the_others_when_its_time_is_over(
    own_redis: RedisServer, worker: MakeWorker
) -> None:
    rules = BreakerRules(threshold=2, rest=0.05, probe_timeout=0.2)
    one, other = worker(own_redis.url, rules), worker(own_redis.url, rules)
    one.fail()
    until(lambda: one.is_due() and other.is_due())
    hung = one.breaker.ask()
    assert hung.is_probe

    until(lambda: other.breaker.ask().is_probe)
    hung.succeeded()
    one.circuits.flush()

    assert [circuit["state"] for circuit in shared_circuits(own_redis.url)] == ["half_open"]


def test_a_tool_is_tried_again_while_redis_is_away(own_redis: RedisServer, worker: MakeWorker) -> None:
    one = worker(own_redis.url, SHORT)
    one.fail()
    own_redis.kill()

    until(one.is_due)
    probe = one.breaker.ask()

    assert (probe.is_probe, probe.token) == (True, None)
    probe.succeeded()
    assert one.state is CircuitState.CLOSED


def test_a_redis_that_hangs_holds_one_call_up_for_a_moment_and_no_other(
    own_redis: RedisServer, worker: MakeWorker
) -> None:
    one = worker(own_redis.url, SHORT)
    one.fail()
    until(one.is_due)
    own_redis.freeze()
    try:
        probe = one.breaker.ask()
        assert (probe.is_probe, probe.token) == (True, None)
        probe.abandoned()
        assert one.breaker.ask().is_probe
    finally:
        own_redis.thaw()


def test_a_redis_that_lost_its_memory_learns_of_open_circuits_again_and_grants_one_probe(
    own_redis: RedisServer, worker: MakeWorker
) -> None:
    one, other = worker(own_redis.url, SHORT), worker(own_redis.url, SHORT)
    one.fail()
    until(lambda: other.state is CircuitState.OPEN)
    own_redis.kill()
    own_redis.start()

    def claimed() -> list[bool]:
        asked = [each.breaker.ask() for each in (one, other)]
        probes = [permit.is_probe for permit in asked if permit.token is not None]
        for permit in asked:
            if permit.token is None:
                permit.abandoned()
        return probes

    found: list[bool] = []
    until(lambda: bool(found.extend(claimed()) or found))

    assert found == [True]
    assert [circuit["state"] for circuit in shared_circuits(own_redis.url)] == ["half_open"]


@pytest.mark.anyio
async def test_an_async_caller_that_is_cancelled_while_it_asks_leaves_the_slot_free(
    own_redis: RedisServer, worker: MakeWorker
) -> None:
    one = worker(own_redis.url, SHORT)
    one.fail()
    until(one.is_due)

    asking = asyncio.create_task(one.breaker.ask_async())
    await asyncio.sleep(0)
    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)

    async def granted() -> bool:
        return (await one.breaker.ask_async()).is_probe

    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not await granted():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.005)  # until the cancelled one was heard; it decides nothing


@pytest.mark.parametrize(
    "rounds", [pytest.param(30, id="30 rounds"), pytest.param(1000, id="1,000 rounds", marks=pytest.mark.slow)]
)
def test_of_a_hundred_calls_in_eight_processes_one_probes(own_redis: RedisServer, rounds: int) -> None:
    probes = probes_of_each_round(own_redis.url, processes=8, calls=13, rounds=rounds)

    assert probes == [1] * rounds


def test_the_rights_that_operations_names_are_enough(own_redis: RedisServer, worker: MakeWorker) -> None:
    text = (Path(__file__).parents[3] / "OPERATIONS.md").read_text()
    patterns, commands = re.findall(r"`(~\{agent-plugins\}\* [^`]+)` with `([^`]+)`", text)[0]
    with Redis(port=own_redis.port) as admin:
        admin.execute_command(
            "ACL", "SETUSER", "agents", "on", ">secret", "resetchannels", *patterns.split(), *commands.split()
        )
    limited = own_redis.url.replace("127.0.0.1", "agents:secret@127.0.0.1")
    one, other = worker(limited, SHORT), worker(limited, SHORT)

    one.fail()
    until(lambda: one.is_due() and other.is_due())
    probe = one.breaker.ask()
    probe.succeeded()
    until(lambda: other.state is CircuitState.CLOSED)

    assert probe.token is not None
    assert [circuit["state"] for circuit in shared_circuits(limited)] == ["closed"]


def test_an_address_that_is_none_is_refused_without_repeating_it() -> None:
    with pytest.raises(ConfigurationError) as refused:
        RedisCircuits("http://user:secret@host")

    assert "secret" not in str(refused.value)


def test_looking_at_a_redis_that_is_not_there_says_so(own_redis: RedisServer) -> None:
    own_redis.kill()

    with pytest.raises(UnavailableError, match="Redis does not answer"):
        shared_circuits(own_redis.url)
