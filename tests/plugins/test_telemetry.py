"""What agents do with their memory is in the trace of Strands, and circuits and injected tokens are measured."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from agent_plugins.telemetry import METERS
from tests.plugins.traced_agents import SECRET

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run the program with the SDK of OpenTelemetry, which a process can have only one of."""
    table = f"sqlite://{tmp_path_factory.mktemp('traced')}/memory.db"
    done = subprocess.run(
        [sys.executable, "-m", "tests.plugins.traced_agents", table],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def spans(recorded: dict[str, Any], name: str) -> list[dict[str, Any]]:
    return [span for span in recorded["spans"] if span["name"] == name and span["scope"] == "agent_plugins"]


def values(recorded: dict[str, Any], name: str) -> list[tuple[dict[str, str], Any]]:
    return [(one["labels"], one["value"]) for one in recorded["metrics"] if one["name"] == name]


def test_all_spans_of_an_invocation_are_in_one_trace_below_that_of_the_agent(recorded: dict[str, Any]) -> None:
    roots = [span["name"] for span in recorded["spans"] if span["within"] is None]

    assert roots == ["invoke_agent clerk"]
    assert len({span["trace"] for span in recorded["spans"]}) == 1


def test_each_call_of_the_model_has_a_span_of_what_was_injected_with_the_reads_inside(recorded: dict[str, Any]) -> None:
    injections, reads = spans(recorded, "memory.inject"), spans(recorded, "search_memory")
    calls = [span for span in recorded["spans"] if span["name"] == "chat"]

    assert len(injections) == len(calls) == 6
    assert {span["within"] for span in injections} == {"execute_event_loop_cycle"}
    assert any(span["attributes"]["memory.injected_tokens"] > 0 for span in injections)
    assert Counter(span["within"] for span in reads) == {
        "invoke_agent clerk": 1,
        "memory.inject": 6,
        "execute_tool recall": 1,
    }
    assert {span["attributes"]["memory.status"] for span in reads} == {"complete"}


def test_turns_and_facts_that_are_written_are_spans_of_the_invocation_they_belong_to(recorded: dict[str, Any]) -> None:
    writes = spans(recorded, "upsert_memory")

    assert "execute_tool remember_fact" in {span["within"] for span in writes}
    # The question, three failed calls with their answers, and the last answer; those of the memory are not saved.
    assert sum(span["attributes"].get("memory.turns", 0) for span in writes) >= 8


def test_a_refused_call_of_a_tool_is_a_span_that_says_why(recorded: dict[str, Any]) -> None:
    (refused,) = spans(recorded, "execute_tool search")

    assert refused["within"] == "execute_event_loop_cycle"
    assert refused["attributes"]["error.type"] == "tool_unavailable"
    assert refused["attributes"]["gen_ai.tool.name"] == "search"
    assert 0 < refused["attributes"]["agents.retry_after_seconds"] <= 30


def test_spans_and_metrics_hold_nothing_that_was_said(recorded: dict[str, Any]) -> None:
    ours = [span for span in recorded["spans"] if span["scope"] == "agent_plugins"]

    assert SECRET not in json.dumps([ours, recorded["metrics"]])
    assert "ana" not in json.dumps(recorded["metrics"]).split('"')


def test_circuits_and_calls_are_measured(recorded: dict[str, Any]) -> None:
    of_search = {
        labels["result"]: value for labels, value in values(recorded, "agents.tool_calls") if labels["tool"] == "search"
    }

    assert of_search == {"failed": 2, "refused": 1}
    assert values(recorded, "agents.circuit_state") == [({"circuit": "clerk/search"}, 2)]
    assert values(recorded, "agents.circuit_openings") == [({"circuit": "clerk/search"}, 1)]


def test_injected_tokens_are_measured_for_each_agent_of_both_frameworks(recorded: dict[str, Any]) -> None:
    found = {one["labels"]["agent"]: one for one in recorded["metrics"] if one["name"] == "agents.injected_tokens"}

    assert {agent: one["count"] for agent, one in found.items()} == {"clerk": 6, "orders": 1}
    assert all(one["sum"] > 0 for one in found.values())


def test_operations_lists_every_metric_of_agents() -> None:
    text = (ROOT / "OPERATIONS.md").read_text()

    for meter in METERS:
        labels = ", ".join(f"`{label}`" for label in meter.labels)
        assert f"| `{meter.name}` | {meter.kind} | {meter.unit} | {labels} | {meter.description} |" in text
