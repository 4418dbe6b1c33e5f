"""A vector index finds the nearest of one owner, a moment late, and says clearly when it cannot."""

from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import pytest

from mcp_memory_server.adapters.dynamodb.vector_index import check_boto3, open_vector_index
from mcp_memory_server.adapters.opentelemetry.vector_index import MeasuredVectorIndex
from mcp_memory_server.domain.kernel.items import Put
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.vectors import as_vector
from mcp_memory_server.errors import ConfigurationError, InvalidRequestError, UnavailableError
from mcp_memory_server.ports.metric_catalogue import READ_LATENCY, Metric
from mcp_memory_server.ports.vector_index import VectorIndex
from mcp_memory_server.schema.turn_records import turn_key
from mcp_memory_server.schema.vector_entries import VECTOR_OWNER, vector_owner
from tests.engines.http_proxy import Asked, Fate, always
from tests.stores.tables import PATIENCE
from tests.stores.vector_tables import DIMENSIONS, INDEX, MODEL, VectorTable, vector_table

pytestmark = pytest.mark.anyio

ANNA = vector_owner("anna", MODEL)
NORTH = as_vector([0.0, 1.0, 0.0])
HASTE = timedelta(milliseconds=400)


@pytest.fixture
async def table(dynamodb_local_endpoint: str) -> AsyncIterator[VectorTable]:
    async with vector_table(dynamodb_local_endpoint) as table:
        yield table


@pytest.fixture
async def index(table: VectorTable) -> AsyncIterator[VectorIndex]:
    index = opened(table)
    yield index
    await index.close()


def opened(table: VectorTable, name: str = INDEX, deadline: timedelta = PATIENCE) -> VectorIndex:
    return open_vector_index(table.name, name, VECTOR_OWNER, endpoint=table.endpoint.endpoint, deadline=deadline)


def for_searches(fate: Fate) -> Callable[[Asked], Fate]:
    return lambda asked: fate if asked.operation == "SearchVectors" else Fate.PASSES


async def test_the_nearest_comes_first(table: VectorTable, index: VectorIndex) -> None:
    south = await table.enter("anna", "3", 0.1, -1, 0)
    east = await table.enter("anna", "2", 1, 0.2, 0)
    north = await table.enter("anna", "1", 0.1, 0.9, 0)

    assert await index.nearest(ANNA, NORTH) == [north, east, south]
    assert await index.nearest(ANNA, NORTH, limit=2) == [north, east]


async def test_only_what_is_entered_for_the_owner_and_the_model_is_found(
    table: VectorTable, index: VectorIndex
) -> None:
    mine = await table.enter("anna", "1", 0, 1, 0)
    await table.enter("ben", "1", 0, 1, 0)
    await table.enter("anna", "2", 0, 1, 0, model="another")
    await table.enter("anna", "3", 0, 0, 0)
    await table.items.put(Put(turn_key(Scope("anna", "talk"), "4"), {"content": "not entered"}))

    assert await index.nearest(ANNA, NORTH) == [mine]
    assert await index.nearest(vector_owner("nobody", MODEL), NORTH) == []


async def test_no_more_than_a_hundred_are_found(table: VectorTable, index: VectorIndex) -> None:
    for number in range(105):
        await table.enter("anna", f"{number:03}", 0, 1, number / 100)

    found = await index.nearest(ANNA, NORTH)

    assert [key.sk for key in found] == [f"TURN#{number:03}" for number in range(100)]


@pytest.mark.parametrize("limit", [0, -1, 101])
async def test_a_limit_that_the_service_would_refuse_is_not_sent(
    table: VectorTable, index: VectorIndex, limit: int
) -> None:
    with pytest.raises(InvalidRequestError, match="1 to 100"):
        await index.nearest(ANNA, NORTH, limit=limit)

    assert table.endpoint.searches == []


async def test_it_follows_the_table_a_moment_later(table: VectorTable, index: VectorIndex) -> None:
    gone = await table.enter("anna", "1", 0, 1, 0)
    await table.endpoint.stand_still(table.name)
    new = await table.enter("anna", "2", 0, 1, 0.1)
    await table.items.delete(gone)

    behind = await index.nearest(ANNA, NORTH)
    table.endpoint.catch_up(table.name)

    assert behind == [gone]
    assert await index.nearest(ANNA, NORTH) == [new]


async def test_one_that_is_asked_too_often_answers_when_it_can(table: VectorTable, index: VectorIndex) -> None:
    mine = await table.enter("anna", "1", 0, 1, 0)
    table.endpoint.once("SearchVectors", Fate.IS_THROTTLED)

    assert await index.nearest(ANNA, NORTH) == [mine]
    assert table.endpoint.met["SearchVectors", Fate.IS_THROTTLED] == 1


@pytest.mark.parametrize("fate", [Fate.IS_THROTTLED, Fate.HANGS, Fate.IS_DROPPED])
async def test_one_that_does_not_answer_is_unavailable_when_time_is_up(table: VectorTable, fate: Fate) -> None:
    index = opened(table, deadline=HASTE)
    table.endpoint.decide(for_searches(fate))

    with pytest.raises(UnavailableError):
        await index.nearest(ANNA, NORTH)

    table.endpoint.decide(always(Fate.PASSES))
    await index.close()


@pytest.mark.parametrize(
    ("fate", "error"), [(Fate.IS_DENIED, ConfigurationError), (Fate.IS_INVALID, InvalidRequestError)]
)
async def test_what_will_not_pass_is_told_at_once(
    table: VectorTable, index: VectorIndex, fate: Fate, error: type[Exception]
) -> None:
    table.endpoint.decide(for_searches(fate))

    with pytest.raises(error):
        await index.nearest(ANNA, NORTH)

    assert table.endpoint.met["SearchVectors", fate] == 1


async def test_a_missing_index_tells_how_to_make_it(table: VectorTable) -> None:
    index = opened(table, "elsewhere")

    with pytest.raises(ConfigurationError, match=r"no vector index 'elsewhere'.*tables create"):
        await index.nearest(ANNA, NORTH)
    await index.close()


async def test_a_question_of_another_model_is_refused(index: VectorIndex) -> None:
    with pytest.raises(InvalidRequestError):
        await index.nearest(ANNA, as_vector([1.0] * (DIMENSIONS + 1)))


async def test_a_model_with_other_dimensions_is_entered_where_this_index_does_not_look(
    table: VectorTable, index: VectorIndex
) -> None:
    mine = await table.enter("anna", "1", 0, 1, 0)
    await table.enter("anna", "2", 0, 1, 0, 0)

    assert await index.nearest(ANNA, NORTH) == [mine]
    wrong = Put(turn_key(Scope("anna", "talk"), "3"), {VECTOR_OWNER: ANNA, "vector_3": [1, 2, 3, 4]})
    with pytest.raises(InvalidRequestError):  # the service refuses such a write as a whole
        await table.items.put(wrong)


async def test_each_search_is_measured(table: VectorTable) -> None:
    recorded: list[tuple[Metric, dict[str, str]]] = []

    class Recorder:
        def record(self, metric: Metric, value: float, **labels: str) -> None:  # noqa: ARG002 - the port's
            recorded.append((metric, labels))

    index = MeasuredVectorIndex(opened(table), Recorder(), engine="dynamodb")
    await index.nearest(ANNA, NORTH)
    table.endpoint.decide(for_searches(Fate.IS_INVALID))
    with pytest.raises(InvalidRequestError):
        await index.nearest(ANNA, NORTH)
    await index.close()

    call: dict[str, Any] = {"operation": "nearest", "engine": "dynamodb"}
    assert recorded == [(READ_LATENCY, {**call, "result": "ok"}), (READ_LATENCY, {**call, "result": "refused"})]


@pytest.mark.parametrize("version", ["1.40.0", "1.43.63"])
def test_a_client_that_is_too_old_is_told_so(version: str) -> None:
    with pytest.raises(ConfigurationError, match=r"boto3>=1\.43\.64"):
        check_boto3(version)


@pytest.mark.parametrize("version", ["1.43.64", "1.44.3", "2.0.0"])
def test_a_client_that_knows_vector_indexes_will_do(version: str) -> None:
    check_boto3(version)
