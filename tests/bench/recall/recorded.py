"""The figures of the last runs, kept in docs/recall/figures.json, of which the page and its charts are made.

A run renews the sections that it measured, each with its command and date; the others stay as they were.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.bench.figures import Figures

DOCS = Path(__file__).parents[3] / "docs"
BEFORE = "before: "
FIGURES = DOCS / "recall" / "figures.json"


@dataclass(frozen=True)
class Section:
    """Tables that were measured together."""

    name: str
    tables: Sequence[Figures]
    command: str = ""
    date: str = ""

    def measured_by(self, command: str, *, before: bool = False) -> "Section":
        """Return the section as it was measured now: as it is, or as it was before, to compare with."""
        name = BEFORE + self.name if before else self.name
        return replace(self, name=name, command=command, date=datetime.now(UTC).date().isoformat())


def record(sections: Iterable[Section]) -> None:
    """Keep what was measured, and write the page and its charts anew."""
    from tests.bench.recall.page import write_page  # imports this module

    known = recorded() | {section.name: section for section in sections if section.tables}
    FIGURES.parent.mkdir(parents=True, exist_ok=True)
    FIGURES.write_text(json.dumps([_to_json(one) for one in known.values()], ensure_ascii=False, indent=1) + "\n")
    write_page(recorded())  # rounded, as whoever renders the page later reads them


def recorded() -> dict[str, Section]:
    """Return what was measured last, by the names of the sections."""
    if not FIGURES.exists():
        return {}
    return {row["name"]: _section(row) for row in json.loads(FIGURES.read_text(encoding="utf-8"))}


def _to_json(section: Section) -> dict[str, Any]:
    tables = [
        {"title": table.title, "rows": [_rounded(row) for row in table.rows], "notes": list(table.notes)}
        for table in section.tables
    ]
    return {"name": section.name, "command": section.command, "date": section.date, "tables": tables}


def _rounded(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: round(value, 2) if isinstance(value, float) else value for name, value in row.items()}


def _section(row: Mapping[str, Any]) -> Section:
    tables = [Figures(table["title"], table["rows"], table["notes"]) for table in row["tables"]]
    return Section(row["name"], tables, row["command"], row["date"])
