"""Every snippet on the pages of the plugins runs, as far as that goes without a model, and the links lead somewhere."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
from strands.agent import agent as strands_agent

from examples.scripted_model import ScriptedModel
from tests.plugins.agent_squad.conftest import ByName, Clerk

ROOT = Path(__file__).parents[2]
ADAPTERS = ("langgraph", "openai_agents", "pydantic_ai")
PAGES = {name: ROOT / "agent_plugins" / name / "README.md" for name in ("strands", "agent_squad", "claude", *ADAPTERS)}


def snippets(page: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", PAGES[page].read_text(), re.MULTILINE | re.DOTALL)


@pytest.fixture
def _a_memory_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MCP_MEMORY_TABLE", f"sqlite://{tmp_path}/memory.db")


@pytest.mark.usefixtures("_a_memory_of_its_own")
@pytest.mark.parametrize("snippet", snippets("strands"), ids=range(len(snippets("strands"))))
def test_a_snippet_for_strands_runs(snippet: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strands_agent, "BedrockModel", lambda **_: ScriptedModel("Heard."))

    exec(compile(snippet, "snippet", "exec"), {})


@pytest.mark.usefixtures("_a_memory_of_its_own")
@pytest.mark.parametrize("snippet", [snippet for page in ADAPTERS for snippet in snippets(page)])
def test_a_snippet_for_an_adapter_runs(snippet: str) -> None:
    exec(compile(snippet, "snippet", "exec"), {"__name__": "snippet"})


@pytest.mark.usefixtures("_a_memory_of_its_own")
def test_the_snippet_for_claude_makes_the_tool() -> None:
    known: dict[str, Any] = {}
    exec(compile(snippets("claude")[0], "snippet", "exec"), known)

    assert known["tools"][0].to_dict() == {"type": "memory_20250818", "name": "memory"}


@pytest.mark.anyio
@pytest.mark.usefixtures("_a_memory_of_its_own")
@pytest.mark.parametrize("snippet", snippets("agent_squad"), ids=range(len(snippets("agent_squad"))))
async def test_a_snippet_for_agent_squad_runs(snippet: str) -> None:
    known: dict[str, Any] = {"agent": Clerk("paperbacks", lambda _: "Noted.")}
    snippet = snippet.replace("MemorySquad()", "MemorySquad(classifier=ByName())")
    waits = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    running = eval(compile(snippet, "snippet", "exec", flags=waits), {**known, "ByName": ByName}, known)
    if running is not None:
        await running

    assert "response" not in known or known["response"].output.content == [{"text": "Noted."}]


@pytest.mark.parametrize("page", PAGES)
def test_a_page_begins_with_five_lines_of_code_and_its_links_lead_somewhere(page: str) -> None:
    text = PAGES[page].read_text()

    assert len([line for line in snippets(page)[0].splitlines() if line.strip()]) <= 5
    assert text.index("```python") < 60
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert (PAGES[page].parent / target).exists(), target
