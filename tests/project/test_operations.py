"""What operators are told agrees with what is measured."""

import re
from pathlib import Path

from mcp_memory_server.adapters.opentelemetry.prometheus_page import PrometheusPage
from mcp_memory_server.cli.parser import build_parser
from mcp_memory_server.ports.measures import MEASURES, Measure, alarm_in_words

ROOT = Path(__file__).parents[2]
OPERATIONS = (ROOT / "OPERATIONS.md").read_text()


def row(measure: Measure) -> str:
    labels = ", ".join(f"`{label}`" for label in measure.labels) or "none"
    unit = measure.unit.strip("{}")
    cells = (f"`{measure.name}`", measure.kind, unit, labels, alarm_in_words(measure), measure.description)
    return f"| {' | '.join(cells)} |"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", OPERATIONS, re.MULTILINE | re.DOTALL)


def names_on_the_page() -> set[str]:
    page = PrometheusPage()
    for measure in MEASURES:
        page.metrics.record(measure, 1, **dict.fromkeys(measure.labels, "x"))
    return set(re.findall(r"^((?:memory|dax)_\w+)", page.render().decode(), re.MULTILINE))


def test_the_table_names_every_measure_with_its_unit_its_labels_and_its_alarm() -> None:
    told = [line for line in OPERATIONS.splitlines() if line.startswith(("| `memory.", "| `dax."))]

    assert told == [row(measure) for measure in MEASURES]


def test_every_name_in_a_query_is_one_that_prometheus_gets() -> None:
    queried = set(re.findall(r"\b(?:memory|dax)_\w+", OPERATIONS))

    assert queried - names_on_the_page() == set()


def test_every_alarm_has_a_rule_with_its_limit() -> None:
    (rules,) = (block for block in blocks("yaml") if "alert:" in block)
    expressions = re.findall(r"expr: (.*)", rules)
    alarms = [(measure, measure.alarm) for measure in MEASURES if measure.alarm is not None]

    for measure, alarm in alarms:
        name = measure.name.replace(".", "_")
        assert [text for text in expressions if name in text and text.endswith(f" {alarm.sign} {alarm.limit}")], name
    assert len(expressions) == len(alarms)


def test_a_rule_lasts_as_long_as_its_alarm_says() -> None:
    (rules,) = (block for block in blocks("yaml") if "alert:" in block)

    for measure in MEASURES:
        if measure.alarm is not None:
            (rule,) = (text for text in rules.split("- alert:") if measure.name.replace(".", "_") in text)
            lasting = re.findall(r"for: (\d+)m", rule)
            assert lasting == ([str(measure.alarm.minutes)] if measure.alarm.minutes else []), measure.name


def test_the_command_that_shows_the_page_can_be_typed() -> None:
    (command,) = (line for block in blocks("sh") for line in block.splitlines() if "--metrics" in line)

    parsed = build_parser().parse_args(command.split()[1:])

    assert parsed.http
    assert parsed.metrics
