"""Write docs/trust.md from what the last runs measured: python -m tests.project.trust_page"""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "docs" / "trust"
PAGE = FOLDER.with_suffix(".md")
COLUMNS = ("tried", "acknowledged", "refused", "lost", "duplicated", "wrong", "crossed", "seconds")


def page() -> str:
    """Return the page."""
    sections = [_before_and_after(), _faults(), _conformance()]
    return "\n\n".join(["# What was attacked, and what held", _INTRODUCTION, *sections]) + "\n"


_INTRODUCTION = """\
Made of the figures that the last runs wrote to `docs/trust/`; `make docs-trust` writes it anew. What is protected, how,
and by which test is in [SECURITY.md](../SECURITY.md#threats)."""


def _before_and_after() -> str:
    rows = [f"| {one['what']} | {one['before']} | {one['after']} | `{one['test']}` |" for one in _read("attacks")]
    head = "## Attacks, before and after\n\n*Before*: what attacks, or the first run of the test named, found.\n"
    return "\n".join([head, "| attack | before | after | checked by |", "|---|---|---|---|", *rows])


def _faults() -> str:
    rows = _read("faults")
    head = (
        "## Faults\n\n`make faults`. Each row has a seed that repeats it and a time that bounds it: *tried* is how\n"
        "often it was reached, of the number wanted. Lost, duplicated, wrong and crossed have to be 0.\n\n"
        "Not covered: a power loss below the file system (logs are torn behind what was acknowledged), Sentinel,\n"
        "a full disk (which has a test of its own), and one operation id sent at the same moment to two processes\n"
        "without Redis, which may store the turn twice.\n"
    )
    lines = [f"| fault | seed | wanted | {' | '.join(COLUMNS)} |", f"|---|{'---:|' * (len(COLUMNS) + 2)}"]
    for row in rows:
        cells = [f"{row[name]:,}" for name in ("wanted", *COLUMNS)]
        lines.append(f"| {row['fault']} | {row['seed']} | {' | '.join(cells)} |")
    return "\n".join([head, *lines])


def _conformance() -> str:
    head = (
        "## Conformance\n\n`make conformance`: required scenarios of the official suite of MCP. The fixtures that the\n"
        "suite asks for are served through the web application of this server; its own tools answer what needs none.\n"
    )
    lines = ["| server | revision | pass | of |", "|---|---|---:|---:|"]
    for one in _read("conformance"):
        passed, failed = len(one["passed"]), len(one["failed"])
        lines.append(f"| {one['server']} | {one['revision']} | {passed} | {passed + failed} |")
    return "\n".join([head, *lines])


def _read(name: str) -> list[dict[str, Any]]:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
