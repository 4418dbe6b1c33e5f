"""A hook of MkDocs: pages that are kept beside the code become pages of the site, and links follow them."""

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FILES_ONLINE = "https://github.com/mcp-agent-memory/mcp-agent-memory/blob/main"

KEPT_ELSEWHERE = {
    "architecture.md": "ARCHITECTURE.md",
    "changelog.md": "CHANGELOG.md",
    "clients/claude-code-plugin.md": "integrations/claude-code/README.md",
    "clients/codex-hooks.md": "integrations/codex/README.md",
    "contributing.md": "CONTRIBUTING.md",
    "examples.md": "examples/README.md",
    "frameworks/agent-squad.md": "agent_plugins/agent_squad/README.md",
    "frameworks/claude.md": "agent_plugins/claude/README.md",
    "frameworks/langgraph.md": "agent_plugins/langgraph/README.md",
    "frameworks/openai-agents.md": "agent_plugins/openai_agents/README.md",
    "frameworks/pydantic-ai.md": "agent_plugins/pydantic_ai/README.md",
    "frameworks/strands.md": "agent_plugins/strands/README.md",
    "operations.md": "OPERATIONS.md",
    "security.md": "SECURITY.md",
}
"""The path on the site, and the path in the repository."""

_SITE_PATHS = {ROOT / source: site for site, source in KEPT_ELSEWHERE.items()} | {ROOT / "README.md": "index.md"}
_LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)(#[^)\s]*)?\)")
_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: "MkDocsConfig") -> Files:
    """Add the pages that are kept beside the code."""
    for site, source in KEPT_ELSEWHERE.items():
        files.append(File.generated(config, site, abs_src_path=str(ROOT / source)))
    return files


def on_page_markdown(markdown: str, page: "Page", config: "MkDocsConfig", files: Files) -> str:
    """Point links at the page of the site, or at the repository online if the file is no page."""
    here = page.file.src_uri
    folder = (ROOT / KEPT_ELSEWHERE[here]).parent if here in KEPT_ELSEWHERE else (DOCS / here).parent
    parts = _CODE.split(markdown)  # every second part is code
    return "".join(part if is_code else _with_links(part, folder, here) for is_code, part in _alternating(parts))


def _alternating(parts: list[str]) -> list[tuple[bool, str]]:
    return [(number % 2 == 1, part) for number, part in enumerate(parts)]


def _with_links(text: str, folder: Path, here: str) -> str:
    def followed(link: re.Match[str]) -> str:
        return f"]({site_link(folder / link[1], here)}{link[2] or ''})"

    return _LINK.sub(followed, text)


def site_link(target: Path, here: str) -> str:
    """Return the link to a file of the repository from a page of the site.

    Raises:
        PluginError: There is no such file.
    """
    target = Path(os.path.normpath(target))
    if not target.exists():
        raise PluginError(f"{here} links to {target.relative_to(ROOT)}, which does not exist")
    site = _SITE_PATHS.get(target)
    if site is None and target.is_file() and target.is_relative_to(DOCS):
        site = target.relative_to(DOCS).as_posix()
    if site is None and (target / "README.md").is_file() and target.is_relative_to(DOCS):
        site = (target / "README.md").relative_to(DOCS).as_posix()
    if site is None:
        return f"{FILES_ONLINE}/{target.relative_to(ROOT).as_posix()}"
    return Path(os.path.relpath(site, Path(here).parent)).as_posix()
