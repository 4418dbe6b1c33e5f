"""Which requests go through the cluster, which go around it, and what happens when it is not there."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path

import pytest

from mcp_memory_server.adapters.dax.item_table import DaxItemTable, open_dax
from mcp_memory_server.domain.kernel.items import Delete, Key, Put, Update
from mcp_memory_server.errors import ConfigurationError, ConflictError
from mcp_memory_server.ports.item_table import ItemTable
from mcp_memory_server.ports.metric_catalogue import DAX_ITEM_CACHE_READS, DAX_REQUESTS, Metric
from tests.dax_server.running import DaxCluster, dax_cluster
from tests.engines.certificates import certificate_for
from tests.engines.servers import free_port
from tests.stores.tables import DynamoDbAddress, DynamoDbTables

pytestmark = pytest.mark.anyio

KEY = Key("USER#anna", "PROFILE")
OTHER = Key("USER#anna", "PREF#tone")
DEADLINE = timedelta(seconds=4)
SOON = 20.0


class Counts:
    """Metrics that count."""

    def __init__(self) -> None:
        self.paths: Counter[tuple[str, str]] = Counter()
        self.cache: Counter[str] = Counter()

    def record(self, metric: Metric, value: float, **labels: str) -> None:
        if metric is DAX_REQUESTS:
            self.paths[labels["operation"], labels["path"]] += int(value)
        if metric is DAX_ITEM_CACHE_READS:
            self.cache[labels["result"]] += int(value)


@pytest.fixture
def counts() -> Counts:
    return Counts()


@pytest.fixture
def behind(dynamodb_local_tables: DynamoDbTables) -> Iterator[DynamoDbAddress]:
    with dynamodb_local_tables.fresh() as address:
        yield address


Open = Callable[[str], DaxItemTable]


@pytest.fixture
async def open_at(behind: DynamoDbAddress, counts: Counts) -> AsyncIterator[Open]:
    """Open the table behind the cluster at this address, as one more process would."""
    async with AsyncExitStack() as opened:

        def open_one(url: str) -> DaxItemTable:
            table = open_dax(url, behind.table, endpoint=behind.endpoint, deadline=DEADLINE, metrics=counts)
            opened.push_async_callback(table.close)
            return table

        yield open_one


@pytest.fixture
def table(open_at: Open, own_dax: DaxCluster) -> DaxItemTable:
    return open_at(own_dax.url)


async def text_of(table: ItemTable, key: Key = KEY) -> object:
    item = await table.get(key)
    return None if item is None else item.body["text"]


async def until_it_reads(table: ItemTable, text: str) -> None:
    async with asyncio.timeout(SOON):
        while await text_of(table) != text:  # noqa: ASYNC110 - the cluster says nothing when it is done
            await asyncio.sleep(0.05)


async def test_writes_pass_through_the_cluster_and_fresh_reads_go_around_it(
    table: DaxItemTable, counts: Counts
) -> None:
    await table.put(Put(KEY, {"text": "x", "ix_pk": "A", "ix_sk": "B"}, expected_version=0))
    await table.write([Put(OTHER, {"text": "y"}, expected_version=0)])
    await table.delete_many([OTHER])
    written = dict(counts.paths)
    await table.get(KEY)
    await table.get_many([KEY, OTHER])
    await table.query(KEY.pk, limit=5)
    await table.find("A", limit=5)

    assert written == {("write", "cluster"): 3}
    assert counts.paths - Counter(written) == {("read", "direct"): 4}


async def test_a_near_read_is_answered_by_the_item_cache(table: DaxItemTable, counts: Counts) -> None:
    await table.put(Put(KEY, {"text": "x"}, expected_version=0))
    near = table.cached_reads()

    assert [await text_of(near) for _ in range(3)] == ["x", "x", "x"]
    assert await text_of(near, OTHER) is None
    assert await text_of(near, OTHER) is None
    assert counts.paths == {("write", "cluster"): 1, ("read", "cluster"): 5}
    assert counts.cache == {"hit": 4, "miss": 1}


async def test_an_own_write_that_the_other_nodes_do_not_know_yet_is_read_from_the_table(
    own_dax: DaxCluster, table: DaxItemTable, counts: Counts
) -> None:
    await table.put(Put(KEY, {"text": "one"}))
    await text_of(table.cached_reads())
    own_dax.lag(1000)

    await table.write([Update(KEY, set={"text": "two"})])

    assert {str(await text_of(table.cached_reads())) for _ in range(10)} == {"two"}
    assert counts.paths["read", "direct"] == 11  # and one that the unconditional put needs


async def test_an_item_that_was_made_anew_is_not_mistaken_for_the_old_one_with_its_higher_version(
    own_dax: DaxCluster, table: DaxItemTable
) -> None:
    for number in range(5):
        await table.update(Update(KEY, set={"text": f"{number}"}))
    own_dax.lag(1000)
    await table.delete(KEY)
    gone = {await text_of(table.cached_reads()) for _ in range(10)}

    await table.put(Put(KEY, {"text": "anew"}, expected_version=0))

    assert gone == {None}
    assert {await text_of(table.cached_reads()) for _ in range(10)} == {"anew"}


async def test_without_a_cluster_everything_works_from_the_first_call_on(open_at: Open, counts: Counts) -> None:
    table = open_at(f"dax://127.0.0.1:{free_port()}")

    await table.put(Put(KEY, {"text": "x"}, expected_version=0))

    assert await text_of(table.cached_reads()) == "x"
    assert (counts.paths["write", "fallback"], counts.paths["read", "fallback"]) == (1, 1)


async def test_a_hanging_cluster_holds_nobody_else_up(own_dax: DaxCluster, table: DaxItemTable) -> None:
    own_dax.hang()
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    await table.put(Put(KEY, {"text": "x"}, expected_version=0))
    ticking.cancel()

    assert ticks > 10
    assert await text_of(table) == "x"


async def test_what_was_written_past_the_cluster_is_shown_to_the_others_when_it_is_back(
    own_dax: DaxCluster, table: DaxItemTable, open_at: Open
) -> None:
    other = open_at(own_dax.url).cached_reads()
    await table.put(Put(KEY, {"text": "before"}, expected_version=0))
    await table.put(Put(OTHER, {"text": "before"}, expected_version=0))
    assert (await text_of(other), await text_of(other, OTHER)) == ("before", "before")

    own_dax.stop()
    await table.update(Update(KEY, set={"text": "past"}))
    await table.delete(OTHER)
    own_dax.start()
    async with asyncio.timeout(SOON):
        while own_dax.counts().get("table.DeleteItem", 0) == 0:
            await table.put(Put(Key("USER#ben", "PROFILE"), {"text": "x"}))
            await asyncio.sleep(0.1)

    await until_it_reads(other, "past")
    item = await table.get(KEY)
    assert await text_of(other, OTHER) is None
    assert item is not None
    assert item.version == 2


@pytest.mark.parametrize("lost", [1, 2])
async def test_a_write_whose_reply_is_lost_is_made_once_and_acknowledged(
    own_dax: DaxCluster, table: DaxItemTable, lost: int
) -> None:
    await table.put(Put(KEY, {"text": "x", "count": 1}, expected_version=0))

    own_dax.drop(lost)
    updated = await table.update(Update(KEY, add={"count": 1}))
    own_dax.drop(lost)
    version = await table.put(Put(KEY, {"text": "y", "count": 5}, expected_version=2))
    own_dax.drop(lost)
    await table.write([Update(KEY, add={"count": 1}), Put(OTHER, {"text": "z"}, expected_version=0)])
    own_dax.drop(lost)
    removed = await table.delete(OTHER)
    own_dax.drop(0)

    item = await table.get(KEY)
    assert item is not None
    assert (updated.body["count"], version, removed) == (2, 3, True)
    assert (item.body["count"], item.version) == (6, 4)


async def test_a_conflict_through_the_cluster_is_a_conflict(table: DaxItemTable) -> None:
    await table.put(Put(KEY, {"text": "x"}, expected_version=0))

    with pytest.raises(ConflictError):
        await table.put(Put(KEY, {"text": "y"}, expected_version=0))
    with pytest.raises(ConflictError):
        await table.write([Delete(KEY, expected_version=7)])

    assert await text_of(table) == "x"


async def test_a_cluster_with_a_certificate_that_is_trusted_is_used(
    behind: DynamoDbAddress, open_at: Open, counts: Counts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = certificate_for("localhost", tmp_path / "dax.pem")
    with dax_cluster(behind.endpoint, tmp_path / "log", certificate=certificate) as cluster:
        stranger = open_at(cluster.url)
        await stranger.put(Put(KEY, {"text": "x"}, expected_version=0))
        untrusted = dict(counts.paths)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        friend = open_at(cluster.url)
        await friend.put(Put(OTHER, {"text": "y"}, expected_version=0))
        await friend.close()

    assert untrusted == {("write", "cluster_error"): 1, ("write", "fallback"): 1}
    assert counts.paths["write", "cluster"] == 1


async def test_credentials_that_the_cluster_refuses_are_told(
    behind: DynamoDbAddress, open_at: Open, tmp_path: Path
) -> None:
    with dax_cluster(behind.endpoint, tmp_path / "log", "--secret-key", "another") as cluster:
        table = open_at(cluster.url)

        with pytest.raises(ConfigurationError, match="UnrecognizedClientException"):
            await table.put(Put(KEY, {"text": "x"}, expected_version=0))


async def test_that_the_cluster_is_gone_and_back_is_logged_once(
    own_dax: DaxCluster, table: DaxItemTable, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("WARNING", logger="mcp_memory_server")
    own_dax.stop()
    for number in range(6):
        await table.put(Put(Key("USER#anna", f"{number}"), {"text": "x"}, expected_version=0))
    own_dax.start()
    async with asyncio.timeout(SOON):
        while "answers again" not in caplog.text:
            await table.put(Put(KEY, {"text": "x"}))
            await asyncio.sleep(0.05)

    ours = [entry.message for entry in caplog.records if entry.name.startswith("mcp_memory_server")]
    assert [text.partition("(")[0] for text in ours] == [
        "the DAX cluster does not answer ",
        "the DAX cluster answers again",
    ]


@pytest.mark.parametrize("url", ["http://host:8111", "dax://", "dax://user@host:8111", "dax://host:port", "host:8111"])
async def test_an_address_that_is_no_cluster_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigurationError, match="dax://host:8111"):
        open_dax(url, "memory")
