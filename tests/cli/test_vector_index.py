"""Commands over a table with a vector index."""

import asyncio
import uuid
from collections.abc import Iterator
from threading import Thread

import pytest

from tests.cli.commands import Run
from tests.engines.vector_endpoint import VectorEndpoint


@pytest.fixture
def endpoint(moto_endpoint: str) -> Iterator[VectorEndpoint]:
    """The endpoint in a thread of its own: a command has this one for itself."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, daemon=True)
    thread.start()
    endpoint = VectorEndpoint(moto_endpoint)
    asyncio.run_coroutine_threadsafe(endpoint.__aenter__(), loop).result()
    yield endpoint
    asyncio.run_coroutine_threadsafe(endpoint.__aexit__(), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def run_there(run: Run, endpoint: VectorEndpoint, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Commands over a table of their own that is to have the index ``nearby``."""
    monkeypatch.setenv("MCP_MEMORY_TABLE", f"dynamodb://cli-{uuid.uuid4().hex}?endpoint={endpoint.endpoint}")
    monkeypatch.setenv("MCP_MEMORY_SESSIONS", "none")
    monkeypatch.setenv("MCP_MEMORY_VECTOR_INDEX", "nearby")
    return run


def finding(run: Run, check: str) -> dict[str, object]:
    (found,) = (found for found in run("doctor", "--json").json["checks"] if found["check"] == check)
    return found


def test_create_makes_the_index_and_describe_and_doctor_show_it(run_there: Run) -> None:
    created = run_there("tables", "create")
    rows = dict(run_there("tables", "describe").rows)

    assert created.code == 0
    assert "the vector index 'nearby' is ready" in created.err
    assert rows["vector indexes"] == "nearby: ACTIVE, 256 dimensions, cosine"
    assert run_there("tables", "describe", "--json").json["vector_indexes"] == rows["vector indexes"]
    assert finding(run_there, "vectors")["ok"] is True


def test_doctor_says_how_to_make_a_missing_index(run_there: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_MEMORY_VECTOR_INDEX", "none")
    run_there("tables", "create")
    before = run_there("doctor", "--json").json["checks"]
    monkeypatch.setenv("MCP_MEMORY_VECTOR_INDEX", "nearby")

    missing = finding(run_there, "vectors")
    run_there("tables", "create")

    assert "vectors" not in [found["check"] for found in before]
    assert (missing["ok"], missing["found"]) == (False, "vector index 'nearby': there is no vector index 'nearby'")
    assert "tables create" in str(missing["advice"])
    assert finding(run_there, "vectors")["ok"] is True


def test_doctor_says_when_the_index_is_of_another_model(run_there: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run_there("tables", "create")
    monkeypatch.setenv(
        "MCP_MEMORY_EMBEDDINGS", "bedrock://amazon.titan-embed-text-v2:0?region=eu-west-1&dimensions=512"
    )

    refused = run_there("tables", "create")

    assert refused.code == 2
    assert "have 256 dimensions, those of the model have 512" in refused.err
    assert "have 256 dimensions, those of the model have 512" in str(finding(run_there, "vectors")["found"])


@pytest.mark.usefixtures("empty_table")
def test_an_index_without_a_table_on_dynamodb_is_refused(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_MEMORY_VECTOR_INDEX", "nearby")

    refused = run("recall", "anything")

    (line,) = refused.err.splitlines()
    assert refused.code == 2
    assert "MCP_MEMORY_TABLE=dynamodb://" in line
