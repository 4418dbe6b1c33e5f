"""docs/recall.md and its charts, made of the figures of the last runs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.bench.figures import Cell, Figures
from tests.bench.recall.charts import bar_chart, line_chart
from tests.bench.recall.recorded import BEFORE, DOCS, Section

TEMPLATE = Path(__file__).with_name("page_template.md")
NOT_DRAWN = ("no-op", "remember_fact")
PLACE = re.compile(r"<!-- (.+) -->")
"""Where a section stands in the template."""


@dataclass(frozen=True)
class Chart:
    """A chart beside the page."""

    name: str
    title: str
    svg: str


def page_of(sections: Mapping[str, Section]) -> dict[Path, str]:
    """Return the page and the charts of the sections that were measured, each as the text of its file."""
    files: dict[Path, str] = {}

    def measured(place: re.Match[str]) -> str:
        section = sections.get(place[1])
        if section is None:
            return "Not measured yet."
        charts = list(_charts(section))
        files.update({DOCS / "recall" / f"{chart.name}.svg": chart.svg for chart in charts})
        images = [f"![{chart.title}](recall/{chart.name}.svg)" for chart in charts]
        return "\n\n".join([*images, *_tables(section, sections.get(BEFORE + section.name))])

    return {DOCS / "recall.md": PLACE.sub(measured, TEMPLATE.read_text(encoding="utf-8")), **files}


def write_page(sections: Mapping[str, Section]) -> None:
    """Write the page and its charts."""
    for file, text in page_of(sections).items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _tables(section: Section, before: Section | None) -> Iterator[str]:
    yield f"`{section.command}`, {section.date}"
    for table in section.tables:
        yield _markdown(table)
    if before is not None:
        yield f"<details><summary>Before, {before.date}</summary>"
        for table in before.tables:
            yield _markdown(table)
        yield "</details>"


def _markdown(table: Figures) -> str:
    columns = list(table.rows[0])
    lines = [columns, ["---", *("---:" for _ in columns[1:])]]
    lines += [[_cell(row.get(column, "")) for column in columns] for row in table.rows]
    rows = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join([f"**{table.title}**", "", *rows, *(f"\n{note}" for note in table.notes)])


def _cell(cell: Cell) -> str:
    return f"{cell:,.1f}" if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else cell


def _charts(section: Section) -> Iterator[Chart]:
    draw = {
        "short facts": _by_category,
        "sizes": _by_size,
        "conversations": _by_budget,
        "latency": _latencies,
    }.get(section.name)
    return draw(section.tables) if draw else iter(())


def _by_category(tables: Sequence[Figures]) -> Iterator[Chart]:
    plain, topics = (_column(tables[place], "R@5") for place in (0, 2))
    rows = {name: {"without topics": plain[name], "with topics": topics[name]} for name in plain}
    title = "Short facts: R@5 by category"
    yield Chart("categories", title, bar_chart(title, rows, "%", highest=100))


def _by_size(tables: Sequence[Figures]) -> Iterator[Chart]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for figure in ("R@5", "R@10"):
        for name, value in _column(tables[0], figure).items():
            size, _, topics = name.partition(" facts, ")
            lines.setdefault(f"{figure} {topics}", []).append((float(size.replace(",", "")), value))
    title = "Short facts: recall by size of the store"
    yield Chart("sizes", title, line_chart(title, lines, "%", "facts in the store", highest=100))


def _by_budget(tables: Sequence[Figures]) -> Iterator[Chart]:
    rows = [row for row in tables[2].rows if row[""] != "tokens used"]
    lines = {str(row[""]): [(_tokens(name), float(row[name])) for name in list(row)[1:]] for row in rows}
    title = "Conversations: evidence within a budget"
    yield Chart("budgets", title, line_chart(title, lines, "%", "tokens of the whole reply", highest=100))
    title = "Conversations: R@10 by category"
    categories = {name: {"R@10": value} for name, value in _column(tables[1], "R@10").items()}
    yield Chart("conversations", title, bar_chart(title, categories, "%", highest=100))


def _latencies(tables: Sequence[Figures]) -> Iterator[Chart]:
    rows = {
        str(row[""]): {name: float(row[name]) for name in ("p50", "p95")}
        for row in tables[0].rows
        if not str(row[""]).endswith(NOT_DRAWN)
    }
    title = "Milliseconds over stdio"
    yield Chart("latency", title, bar_chart(title, rows, "ms"))


def _column(table: Figures, figure: str) -> dict[str, float]:
    return {str(row[""]): float(row[figure]) for row in table.rows}


def _tokens(column: str) -> float:
    return float(column.split()[0].replace(",", ""))
