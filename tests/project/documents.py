"""The documents that people read, and the commands and snippets in them."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GENERATED = {"api.md", "recall.md"}


@dataclass(frozen=True)
class Document:
    """A page of Markdown."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.relative_to(ROOT).as_posix()

    @property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def blocks(self, language: str) -> list[str]:
        """Return the code blocks of a language, also those that are indented in a list."""
        found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", self.text, re.MULTILINE | re.DOTALL)
        return [re.sub(rf"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]

    def commands(self) -> list[str]:
        return [line for block in self.blocks("sh") for line in block.splitlines() if line.strip()]

    def snippets(self) -> list[tuple[str, str]]:
        """Return the Python blocks, each with what the text after it says that it prints."""
        pattern = r"^```python\n(.*?)^```(?:\n+prints `(.*?)`)?"
        return re.findall(pattern, self.text, re.MULTILINE | re.DOTALL)


README = Document(ROOT / "README.md")
GUIDES = [README, *(Document(path) for path in sorted(DOCS.glob("*.md")) if path.name not in GENERATED)]
BESIDE_THE_CODE = [
    Document(ROOT / name)
    for name in (
        "OPERATIONS.md",
        "SECURITY.md",
        "examples/README.md",
        "integrations/claude-code/README.md",
        "integrations/codex/README.md",
        "agent_plugins/claude/README.md",
        "agent_plugins/langgraph/README.md",
        "agent_plugins/openai_agents/README.md",
        "agent_plugins/pydantic_ai/README.md",
        "agent_plugins/strands/README.md",
        "agent_plugins/agent_squad/README.md",
    )
]


def guide(name: str) -> Document:
    return next(one for one in GUIDES if one.path.name == name)
