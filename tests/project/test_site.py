"""The documentation site builds, its links lead somewhere, and it needs nothing from another server."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project import site_pages

ROOT = Path(__file__).parents[2]


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--quiet", "--config-file", str(config), "--site-dir", str(site)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(ROOT / "mkdocs.yml", folder)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_of_the_menu_is_built_and_none_is_forgotten(site: Path) -> None:
    menu = set(re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} | set(site_pages.KEPT_ELSEWHERE)

    assert pages - menu == set()
    for page in menu:
        built = site / (page.replace("README", "index").removesuffix(".md") + ".html")
        assert "<article" in built.read_text(), page


def test_a_link_that_leads_nowhere_fails_the_build(tmp_path: Path) -> None:
    broken = tmp_path / "docs"
    shutil.copytree(ROOT / "docs", broken)
    (broken / "start.md").write_text("# Start\n\n[somewhere](nowhere.md)\n")
    config = (ROOT / "mkdocs.yml").read_text().replace("[tests/", f"[{ROOT}/tests/")
    (tmp_path / "mkdocs.yml").write_text(f"docs_dir: {broken}\n{config}")

    built = build(tmp_path / "mkdocs.yml", tmp_path / "site")

    assert built.returncode != 0
    assert "nowhere.md" in built.stderr


def test_a_page_loads_nothing_from_another_server(site: Path) -> None:
    page = (site / "start.html").read_text()

    loaded = re.findall(r"<(script|img|link)[^>]+(?:src|href)=\"?(https?://[^\" >]+)", page)

    assert loaded == []
