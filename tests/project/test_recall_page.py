"""docs/recall.md and its charts are what the recorded figures make of them: nobody improved a figure by hand."""

import xml.etree.ElementTree as ElementTree

from tests.bench.recall.page import page_of
from tests.bench.recall.recorded import recorded


def test_the_page_and_its_charts_are_made_of_the_recorded_figures() -> None:
    files = page_of(recorded())

    assert len(files) > 1
    assert {file.name for file, text in files.items() if file.read_text(encoding="utf-8") != text} == set()


def test_every_chart_is_a_drawing_that_can_be_read() -> None:
    charts = [text for file, text in page_of(recorded()).items() if file.suffix == ".svg"]

    assert {ElementTree.fromstring(chart).tag for chart in charts} == {"{http://www.w3.org/2000/svg}svg"}
