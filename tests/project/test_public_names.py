"""Documents and examples import only public names, and every public name exists."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import isclass, isroutine
from pathlib import Path

import pytest

from tests.project.public_names import PUBLIC_MODULES, public_names

ROOT = Path(__file__).parents[2]
PACKAGES = {"mcp_memory_server", "agent_plugins"}

DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("agent_plugins/*/*.md"), *ROOT.glob("examples/*.md")]
)
EXAMPLES = sorted(ROOT.glob("examples/*.py"))
BLOCK = re.compile(r"^( *)```(?:python|py)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)


def sources(path: Path) -> Iterator[str]:
    """Yield the Python code of an example, or of each block of a document."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        yield text
        return
    for match in BLOCK.finditer(text):
        yield re.sub(rf"^{match[1]}", "", match[2], flags=re.MULTILINE)


def imports(source: str) -> Iterator[tuple[str, str | None]]:
    """Yield the module and the name of each import from our packages; None for the module itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in PACKAGES:
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.partition(".")[0] in PACKAGES)


@pytest.mark.parametrize("path", [*DOCUMENTS, *EXAMPLES], ids=lambda path: str(path.relative_to(ROOT)))
def test_documents_and_examples_import_only_public_names(path: Path) -> None:
    used = [found for source in sources(path) for found in imports(source)]

    private = [
        (module, name)
        for module, name in used
        if module not in PUBLIC_MODULES or (name is not None and name not in public_names(module))
    ]

    assert private == []


def test_the_check_reads_the_documents_and_the_examples() -> None:
    found = {path for path in [*DOCUMENTS, *EXAMPLES] for source in sources(path) for _ in imports(source)}

    assert {"README.md", "OPERATIONS.md"} <= {path.name for path in found}
    assert len(found & set(EXAMPLES)) >= 7


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_public_name_exists_and_is_documented(module: str) -> None:
    loaded = import_module(module)

    values = {name: getattr(loaded, name) for name in public_names(module)}
    undocumented = [name for name, value in values.items() if isroutine(value) or isclass(value) if not value.__doc__]

    assert undocumented == []
