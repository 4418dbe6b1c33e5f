"""ARCHITECTURE.md names the layers that import-linter checks, and files that exist."""

import re
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "mcp_memory_server"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def contracts() -> list[dict[str, Any]]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return list(project["tool"]["importlinter"]["contracts"])


def test_the_layers_are_those_of_the_import_contracts_in_their_order() -> None:
    listed = dict(re.findall(r"^\| `([\w.]+)` \| `([^`]+ > [^`]+)` \|$", PAGE, re.MULTILINE))
    written = {name: order.replace("\\|", "|").split(" > ") for name, order in listed.items()}

    checked = {
        container: [layer.replace(" ", "") for layer in contract["layers"]]
        for contract in contracts()
        if contract["type"] == "layers"
        for container in contract["containers"]
    }
    assert written == checked


def test_every_file_that_is_named_exists() -> None:
    named = re.findall(r"`([\w./]+/[\w.]+\.py)`", PAGE)

    assert len(named) > 30
    assert [name for name in named if not ((PACKAGE / name).is_file() or (ROOT / name).is_file())] == []


def test_a_term_stands_in_the_glossary_once() -> None:
    glossary = PAGE.partition("## Glossary")[2]
    terms = re.findall(r"^\| ([^|]+) \| ", glossary, re.MULTILINE)[1:]

    assert len(terms) >= 25
    assert len(terms) == len(set(terms))
