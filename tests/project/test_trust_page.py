"""docs/trust.md is what the recorded figures make of it, and names tests that exist."""

import json
from pathlib import Path

from tests.project.trust_page import FOLDER, PAGE, page

ROOT = Path(__file__).parents[2]


def test_the_page_is_made_of_the_recorded_figures() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make docs-trust"


def test_nothing_was_lost_duplicated_wrong_or_crossed() -> None:
    rows = json.loads((FOLDER / "faults.json").read_text())

    assert len(rows) > 10
    assert [row for row in rows if row["lost"] or row["duplicated"] or row["wrong"] or row["crossed"]] == []


def test_each_attack_names_a_test_that_exists() -> None:
    named = [one["test"] for one in json.loads((FOLDER / "attacks.json").read_text())]

    assert [name for name in named if not (ROOT / name).is_file()] == []
