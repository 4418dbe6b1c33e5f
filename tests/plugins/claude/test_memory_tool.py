"""Claude's memory tool on this memory answers like the SDK's own one on a folder, and shares what it knows."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool

from agent_plugins.claude import AsyncMemoryTool, MemoryTool
from mcp_memory_server import Memory, Scope, Settings, Statement, open_memory

ANA = Scope("ana")

Command = dict[str, Any]


def create(path: str, text: str) -> Command:
    return {"command": "create", "path": path, "file_text": text}


def view(path: str, *lines: int) -> Command:
    return {"command": "view", "path": path, **({"view_range": list(lines)} if lines else {})}


def replace(path: str, old: str, new: str) -> Command:
    return {"command": "str_replace", "path": path, "old_str": old, "new_str": new}


def insert(path: str, line: int, text: str) -> Command:
    return {"command": "insert", "path": path, "insert_line": line, "insert_text": text}


def delete(path: str) -> Command:
    return {"command": "delete", "path": path}


def rename(old: str, new: str) -> Command:
    return {"command": "rename", "old_path": old, "new_path": new}


def answer(tool: Any, command: Mapping[str, Any]) -> str:
    """Return the reply as a model reads it, errors included."""
    try:
        return str(tool.call(command))
    except ToolError as error:
        return f"error: {error}"


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(table=f"sqlite://{tmp_path}/memory.db", embeddings="static")


@pytest.fixture
def tool(settings: Settings) -> MemoryTool:
    return MemoryTool("ana", memory=settings)


NOTES = "# Notes\n\n- Ana likes tea.\n- Ana cycles to work.\n"
FLOWS = {
    "create and view": [create("/memories/a.md", NOTES), view("/memories/a.md"), view("/memories/a.md", 2, 3)],
    "view to the end": [create("/memories/a.md", NOTES), view("/memories/a.md", 3, -1)],
    "create twice": [create("/memories/a.md", "One thing."), create("/memories/a.md", "Another thing.")],
    "create deep": [create("/memories/x/y/z.txt", "Deep inside."), view("/memories/x/y/z.txt")],
    "view nothing": [view("/memories/none.md")],
    "replace": [create("/memories/a.md", NOTES), replace("/memories/a.md", "tea", "coffee"), view("/memories/a.md")],
    "replace what is not there": [create("/memories/a.md", NOTES), replace("/memories/a.md", "wine", "tea")],
    "replace what is there twice": [create("/memories/a.md", NOTES), replace("/memories/a.md", "Ana", "Bo")],
    "replace nowhere": [replace("/memories/a.md", "a", "b")],
    "replace in a folder": [create("/memories/x/a.md", NOTES), replace("/memories/x", "a", "b")],
    "insert first": [create("/memories/a.md", NOTES), insert("/memories/a.md", 0, "First.\n"), view("/memories/a.md")],
    "insert last": [create("/memories/a.md", NOTES), insert("/memories/a.md", 4, "Last."), view("/memories/a.md")],
    "insert beyond": [create("/memories/a.md", NOTES), insert("/memories/a.md", 9, "No.")],
    "insert before": [create("/memories/a.md", NOTES), insert("/memories/a.md", -1, "No.")],
    "insert nowhere": [insert("/memories/a.md", 0, "No.")],
    "delete": [create("/memories/a.md", NOTES), delete("/memories/a.md"), view("/memories/a.md")],
    "delete a folder": [create("/memories/x/a.md", NOTES), delete("/memories/x"), view("/memories/x/a.md")],
    "delete nothing": [delete("/memories/a.md")],
    "delete everything": [delete("/memories")],
    "rename": [create("/memories/a.md", NOTES), rename("/memories/a.md", "/memories/b/c.md"), view("/memories/b/c.md")],
    "rename a folder": [
        create("/memories/x/a.md", NOTES),
        rename("/memories/x", "/memories/y"),
        view("/memories/y/a.md"),
    ],
    "rename onto a file": [
        create("/memories/a.md", "One thing."),
        create("/memories/b.md", "Another thing."),
        rename("/memories/a.md", "/memories/b.md"),
    ],
    "rename nothing": [rename("/memories/a.md", "/memories/b.md")],
    "rename everything": [rename("/memories", "/memories/b")],
}


@pytest.mark.parametrize("commands", FLOWS.values(), ids=FLOWS)
def test_it_answers_like_the_tool_of_the_sdk(commands: list[Command], tool: MemoryTool, tmp_path: Path) -> None:
    on_a_folder = BetaLocalFilesystemMemoryTool(str(tmp_path / "folder"))

    for command in commands:
        assert answer(tool, command) == answer(on_a_folder, command)


def test_a_folder_is_listed_like_one_of_files(tool: MemoryTool, tmp_path: Path) -> None:
    on_a_folder = BetaLocalFilesystemMemoryTool(str(tmp_path / "folder"))
    files = ("b.md", "a/one.md", "a/two/three.md", "a/two/deep/four.md", ".hidden/x.md")
    for name in files:
        for one in (tool, on_a_folder):
            answer(one, create(f"/memories/{name}", "Something is here."))

    for path in ("/memories", "/memories/a"):
        ours, theirs = (
            re.sub(r"^\S+(?=\t\S+/$|\t/memories(/a)?$)", "", answer(one, view(path)), flags=re.M)
            for one in (tool, on_a_folder)
        )
        assert ours == theirs


ESCAPES = [
    "/etc/passwd",
    "memories/a.md",
    "",
    "/memories/../secret.md",
    "/memories/a/../../secret.md",
    "/memories/..",
    "/memories/%2e%2e/secret.md",
    "/memories/..\\secret.md",
    "/memoriesother/a.md",
    "/memories/../memories-2/a.md",
    "/memories/a\0.md",
]


@pytest.mark.parametrize("path", ESCAPES)
def test_no_path_leads_out_of_the_folder(path: str, tool: MemoryTool) -> None:
    answer(tool, create("/memories/known.txt", "It is here."))
    commands = [view(path), delete(path), create(path, "x y"), replace(path, "a", "b"), insert(path, 0, "x")]

    for command in [*commands, rename(path, "/memories/b.md"), rename("/memories/known.txt", path)]:
        with pytest.raises(ToolError, match=r"must start with /memories|would escape /memories"):
            tool.call(command)

    assert "It is here." in answer(tool, view("/memories/known.txt"))


def test_another_user_has_another_folder(tool: MemoryTool, settings: Settings) -> None:
    answer(tool, create("/memories/a.md", "Ana keeps bees."))

    bo = MemoryTool("bo", memory=settings)

    assert "does not exist" in answer(bo, view("/memories/a.md"))
    assert "a.md" not in answer(bo, view("/memories"))


async def texts(memory: Memory, question: str) -> list[tuple[str, bool]]:
    return [(one.text, one.past) for one in (await memory.recall.search(ANA, question)).memories]


@pytest.mark.anyio
async def test_what_is_written_in_a_file_is_recalled(settings: Settings) -> None:
    async with open_memory(settings) as memory:
        tool = AsyncMemoryTool("ana", memory=memory)
        await tool.call(create("/memories/people.md", "# People\n\n- Marta is Ana's sister.\n"))
        first = await texts(memory, "Who is Marta?")
        await tool.call(replace("/memories/people.md", "sister", "aunt"))
        changed = await texts(memory, "Who is Marta?")
        await tool.call(delete("/memories/people.md"))
        gone = await texts(memory, "Who is Marta?")

    assert first == [("Marta is Ana's sister.", False)]
    assert changed == [("Marta is Ana's aunt.", False), ("Marta is Ana's sister.", True)]
    assert gone == []


@pytest.mark.anyio
async def test_what_is_known_is_shown_as_files_that_can_only_be_read(settings: Settings) -> None:
    async with open_memory(settings) as memory:
        await memory.facts.learn(ANA, Statement("Ana lives in Lisbon.", topic="personal/location/city"))
        await memory.preferences.set(ANA, "tone", "brief")
        tool = AsyncMemoryTool("ana", memory=memory)

        listed = await tool.call(view("/memories"))
        shown = await tool.call(view("/memories/known/personal.md"))
        with pytest.raises(ToolError, match="can only be read"):
            await tool.call(delete("/memories/known/personal.md"))

        assert "/memories/known/personal.md" in str(listed)
        assert "/memories/known/preferences.md" in str(listed)
        assert "- Ana lives in Lisbon." in str(shown)


@pytest.mark.anyio
async def test_a_deleted_file_takes_only_its_own_facts_along(settings: Settings) -> None:
    async with open_memory(settings) as memory:
        await memory.facts.learn(ANA, Statement("Ana lives in Lisbon.", topic="personal/location/city"))
        tool = AsyncMemoryTool("ana", memory=memory)
        await tool.call(create("/memories/a.md", "Ana lives in Lisbon.\nAna has two cats.\n"))
        await tool.call(create("/memories/b.md", "Ana has two cats.\n"))

        await tool.call(delete("/memories/a.md"))

        assert {fact.text for fact in await memory.facts.all(ANA)} == {"Ana lives in Lisbon.", "Ana has two cats."}


@pytest.mark.anyio
async def test_what_was_forgotten_elsewhere_disappears_from_its_file(settings: Settings) -> None:
    async with open_memory(settings) as memory:
        tool = AsyncMemoryTool("ana", memory=memory)
        await tool.call(create("/memories/a.md", "Ana dyes her hair.\nAna has two cats.\n"))
        (fact,) = [one for one in await memory.facts.all(ANA) if "hair" in one.text]

        await memory.erasure.forget(ANA, fact.id)

        shown = str(await tool.call(view("/memories/a.md")))
        assert "hair" not in shown
        assert "two cats" in shown


def test_it_is_the_tool_that_the_api_knows(tool: MemoryTool) -> None:
    assert tool.to_dict() == {"type": "memory_20250818", "name": "memory"}
    assert answer(tool, create("/memories/a.md", "One thing.")).startswith("File created")
    assert tool.clear_all_memory() == "All memory cleared"
    assert "a.md" not in answer(tool, view("/memories"))
