"""The six commands of Claude's memory tool, with the replies that Claude knows."""

from collections.abc import Mapping, Sequence

from agent_plugins.memory.memory_files import (
    ROOT,
    MemoryFileError,
    MemoryFiles,
    check_writable,
    entries_below,
    path_within,
)
from mcp_memory_server import Memory, NotFoundError, Scope

LEVELS = 2
FOLDER_BYTES = 4096
NUMBER_WIDTH = 6
AROUND = 2
"""How many lines before and after a change are shown."""


class FileCommands:
    """The commands, for the files of one user."""

    def __init__(self, memory: Memory, scope: Scope) -> None:
        self._files = MemoryFiles(memory, scope)

    async def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """Return a file with line numbers, or what is in a folder."""
        name, sizes = path_within(path), await self._files.names()
        if name in sizes:
            return _numbered(path, await self._files.read(name), view_range)
        if name and not any(one.startswith(f"{name}/") for one in sizes):
            raise MemoryFileError(f"The path {path} does not exist. Please provide a valid path.")
        header = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
        lines = [f"{_size(FOLDER_BYTES)}\t{path}"]
        for inside, size in entries_below(name, sizes, depth=LEVELS):
            is_folder = size is None
            lines.append(f"{_size(FOLDER_BYTES if size is None else size)}\t{path}/{inside}{'/' if is_folder else ''}")
        return "\n".join([header, *lines])

    async def create(self, path: str, file_text: str) -> str:
        """Create a file."""
        name, sizes = path_within(path), await self._files.names()
        if not name or name in sizes or any(one.startswith(f"{name}/") for one in sizes):
            raise MemoryFileError(f"File {path} already exists")
        _check_parents(name, sizes)
        await self._files.write(name, file_text)
        return f"File created successfully at: {path}"

    async def str_replace(self, path: str, old_str: str, new_str: str) -> str:
        """Replace a text that occurs once in a file."""
        name, text = await self._text_of(path)
        count = text.count(old_str)
        if not old_str or count == 0:
            raise MemoryFileError(
                f"No replacement was performed, old_str `{old_str}` did not appear verbatim in {path}."
            )
        if count > 1:
            raise MemoryFileError(
                f"No replacement was performed. Multiple occurrences of old_str `{old_str}` in lines: "
                f"{', '.join(map(str, _lines_with(text, old_str)))}. Please ensure it is unique"
            )
        changed = text[: text.find(old_str)].count("\n")
        text = text.replace(old_str, new_str)
        await self._files.write(name, text)
        lines = text.split("\n")
        first, last = max(0, changed - AROUND), min(len(lines), changed + AROUND + 1)
        snippet = [f"{number:>{NUMBER_WIDTH}}\t{lines[number - 1]}" for number in range(first + 1, last + 1)]
        head = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return "\n".join([head, *snippet])

    async def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """Insert a text after a line."""
        name, text = await self._text_of(path)
        lines = text.split("\n")
        if lines[-1] == "":
            lines.pop()
        if not 0 <= insert_line <= len(lines):
            raise MemoryFileError(
                f"Invalid `insert_line` parameter: {insert_line}. It should be within the range [0, {len(lines)}]."
            )
        lines.insert(insert_line, insert_text.rstrip("\n"))
        text = "\n".join(lines)
        await self._files.write(name, text if text.endswith("\n") else f"{text}\n")
        return f"The file {path} has been edited."

    async def delete(self, path: str) -> str:
        """Delete a file, or a folder with everything in it."""
        name = path_within(path)
        if not name:
            raise MemoryFileError(f"Cannot delete the {ROOT} directory itself")
        check_writable(name)
        found = await self._below(name)
        if not found:
            raise MemoryFileError(f"The path {path} does not exist")
        for one in found:
            await self._files.delete(one)
        return f"Successfully deleted {path}"

    async def rename(self, old_path: str, new_path: str) -> str:
        """Rename or move a file or a folder."""
        name, new_name, sizes = path_within(old_path), path_within(new_path), await self._files.names()
        if not name:
            raise MemoryFileError(f"Cannot rename the {ROOT} directory itself")
        check_writable(name)
        check_writable(new_name)
        if not new_name or new_name in sizes or any(one.startswith(f"{new_name}/") for one in sizes):
            raise MemoryFileError(f"The destination {new_path} already exists")
        found = await self._below(name)
        if not found:
            raise MemoryFileError(f"The path {old_path} does not exist")
        _check_parents(new_name, sizes)
        if new_name.startswith(f"{name}/"):
            raise MemoryFileError(f"{old_path} cannot be moved into itself")
        for one in found:
            await self._files.rename(one, new_name + one[len(name) :])
        return f"Successfully renamed {old_path} to {new_path}"

    async def clear(self) -> str:
        """Delete all files. What is known otherwise stays."""
        for name in await self._below(""):
            await self._files.delete(name)
        return "All memory cleared"

    async def _below(self, name: str) -> list[str]:
        """Return the file with this name, or the files in this folder."""
        sizes = await self._files.names()
        inside = f"{name}/" if name else ""
        return [one for one in sizes if (one == name or one.startswith(inside)) and not one.startswith("known/")]

    async def _text_of(self, path: str) -> tuple[str, str]:
        name = path_within(path)
        check_writable(name)
        try:
            return name, await self._files.read(name) if name else ""
        except NotFoundError:
            if await self._below(name):
                raise MemoryFileError(f"The path {path} is not a file.") from None
            raise MemoryFileError(f"The path {path} does not exist. Please provide a valid path.") from None


def _numbered(path: str, text: str, view_range: Sequence[int] | None) -> str:
    lines, first = text.split("\n"), 1
    if view_range and len(view_range) == 2:
        first = max(1, view_range[0])
        lines = lines[first - 1 : len(lines) if view_range[1] == -1 else view_range[1]]
    numbered = [f"{number:>{NUMBER_WIDTH}}\t{line}" for number, line in enumerate(lines, start=first)]
    return "\n".join([f"Here's the content of {path} with line numbers:", *numbered])


def _check_parents(name: str, sizes: Mapping[str, int]) -> None:
    """Refuse a path that goes through a file."""
    parts = name.split("/")
    for end in range(1, len(parts)):
        if (parent := "/".join(parts[:end])) in sizes:
            raise MemoryFileError(f"{ROOT}/{parent} is a file, not a directory")


def _lines_with(text: str, part: str) -> list[int]:
    found: list[int] = []
    start = text.find(part)
    while start != -1:
        found.append(text[:start].count("\n") + 1)
        start = text.find(part, start + 1)
    return found


def _size(size: int) -> str:
    unit = 0
    shown = float(size)
    while shown >= 1024 and unit < 3:
        shown, unit = shown / 1024, unit + 1
    return f"{int(shown) if shown == int(shown) else f'{shown:.1f}'}{'BKMG'[unit]}"
