"""The table of threats in SECURITY.md names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_each_promise_of_the_table_of_threats_names_a_test_that_exists() -> None:
    section = (ROOT / "SECURITY.md").read_text().partition("## Threats")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| ")][1:]

    assert len(rows) >= 9
    for row in rows:
        named = re.findall(r"`(tests/[a-z_/]+\.py)`", row)
        assert named, row
        assert [name for name in named if not (ROOT / name).is_file()] == []
