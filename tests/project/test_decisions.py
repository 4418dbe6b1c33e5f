"""Every decision record has the same parts, and the index lists all of them under their titles."""

import re
from pathlib import Path

import pytest

DECISIONS = Path(__file__).parents[2] / "docs" / "decisions"
RECORDS = sorted(DECISIONS.glob("[0-9]*.md"))


@pytest.mark.parametrize("record", RECORDS, ids=[record.stem for record in RECORDS])
def test_a_record_has_date_status_context_choice_and_price(record: Path) -> None:
    text = record.read_text(encoding="utf-8")

    assert re.match(rf"# {record.stem[:4]}\. \S", text)
    assert re.search(r"^- Date: \d{4}-\d\d-\d\d$", text, re.MULTILINE)
    assert re.search(r"^- Status: (?:accepted|superseded by)", text, re.MULTILINE)
    assert re.findall(r"^## (.*)$", text, re.MULTILINE) == ["Context", "Choice", "Price"]


def test_the_index_lists_every_record_with_its_title_in_order() -> None:
    listed = re.findall(r"^\| \[(\d{4})\]\((.*?)\) \| (.*) \|$", (DECISIONS / "README.md").read_text(), re.MULTILINE)

    titles = [record.read_text(encoding="utf-8").partition("\n")[0].split(". ", 1)[1] for record in RECORDS]
    assert listed == [(one.name[:4], one.name, title) for one, title in zip(RECORDS, titles, strict=True)]
    assert [int(number) for number, _, _ in listed] == list(range(1, len(RECORDS) + 1))


def test_links_between_records_lead_somewhere() -> None:
    for record in RECORDS:
        for target in re.findall(r"\]\((?!https?://)([^)#]+)\)", record.read_text(encoding="utf-8")):
            assert (DECISIONS / target).exists(), f"{record.name} links to {target}"
