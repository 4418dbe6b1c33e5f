"""The metrics and alerts in OPERATIONS.md are those of the catalogue."""

import re
from pathlib import Path

from mcp_memory_server.adapters.opentelemetry.prometheus_page import PrometheusPage
from mcp_memory_server.cli.parser import build_parser
from mcp_memory_server.ports.metric_catalogue import METRICS, Metric, alert_condition

ROOT = Path(__file__).parents[2]
OPERATIONS = (ROOT / "OPERATIONS.md").read_text()


def row(metric: Metric) -> str:
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "none"
    unit = metric.unit.strip("{}")
    cells = (f"`{metric.name}`", metric.kind, unit, labels, alert_condition(metric), metric.description)
    return f"| {' | '.join(cells)} |"


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", OPERATIONS, re.MULTILINE | re.DOTALL)


def names_on_the_page() -> set[str]:
    page = PrometheusPage()
    for metric in METRICS:
        page.metrics.record(metric, 1, **dict.fromkeys(metric.labels, "x"))
    return set(re.findall(r"^((?:memory|dax)_\w+)", page.render().decode(), re.MULTILINE))


def test_the_table_lists_every_metric_with_its_unit_labels_and_alert() -> None:
    rows = [line for line in OPERATIONS.splitlines() if line.startswith(("| `memory.", "| `dax."))]

    assert rows == [row(metric) for metric in METRICS]


def test_every_name_in_a_query_is_one_that_prometheus_gets() -> None:
    named = set(re.findall(r"\b(?:memory|dax)_\w+", OPERATIONS))
    alerts = {metric.alert.name for metric in METRICS if metric.alert is not None}

    assert named - names_on_the_page() - alerts == set()


def test_every_alert_has_a_rule_with_its_limit() -> None:
    (rules,) = (block for block in blocks("yaml") if "alert:" in block)
    expressions = re.findall(r"expr: (.*)", rules)
    alerts = [(metric, metric.alert) for metric in METRICS if metric.alert is not None]

    for metric, alert in alerts:
        name = metric.name.replace(".", "_")
        assert [text for text in expressions if name in text and text.endswith(f" {alert.sign} {alert.limit}")], name
    assert len(expressions) == len(alerts)


def test_the_rules_have_the_names_of_the_alerts() -> None:
    (rules,) = (block for block in blocks("yaml") if "alert:" in block)

    alerts = {metric.alert.name: metric.name for metric in METRICS if metric.alert is not None}
    assert set(re.findall(r"alert: (\w+)", rules)) == set(alerts)
    for rule in rules.split("- alert: ")[1:]:
        assert alerts[rule.split()[0]].replace(".", "_") in rule


def test_a_rule_waits_as_long_as_its_alert() -> None:
    (rules,) = (block for block in blocks("yaml") if "alert:" in block)

    for metric in METRICS:
        if metric.alert is not None:
            (rule,) = (text for text in rules.split("- alert:") if metric.name.replace(".", "_") in text)
            lasting = re.findall(r"for: (\d+)m", rule)
            assert lasting == ([str(metric.alert.minutes)] if metric.alert.minutes else []), metric.name


def test_the_command_that_shows_the_page_can_be_typed() -> None:
    (command,) = (line for block in blocks("sh") for line in block.splitlines() if "--metrics" in line)

    parsed = build_parser().parse_args(command.split()[1:])

    assert parsed.http
    assert parsed.metrics
