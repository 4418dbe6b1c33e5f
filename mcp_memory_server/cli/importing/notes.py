"""Notes in Markdown: MEMORY.md and CLAUDE.md, folders of Obsidian, and the notes of basic-memory."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mcp_memory_server.cli.importing.entries import Entry, facts, topic_of
from mcp_memory_server.cli.importing.sources import Source, TextFile

SMALLEST_PARAGRAPH = 3
"""The fewest words that make a statement."""

_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_FIELD = re.compile(r"^(\w[\w-]*):[ \t]*(.*)$", re.MULTILINE)
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->|%%.*?%%", re.DOTALL)
_HEADING = re.compile(r"^(#{1,6})\s+(.*?)\s*#*$")
_ENTRY = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?(.*)$")
_WIKI_LINK = re.compile(r"!?\[\[([^\]|]*)(?:\|([^\]]*))?\]\]")
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_OBSERVATION = re.compile(r"^\[([^\]]+)\]\s+(.*)$")
_RELATION = re.compile(r"^([\w -]*?)\s*\[\[([^\]]+)\]\]\s*$")
_TAG = re.compile(r"\s#\w\S*")
_INCLUDED = re.compile(r"^@\S+$")


@dataclass
class _Note:
    """A note that is being read: its title, and the headings above the current line."""

    title: str
    path: str
    fields: Mapping[str, str]
    headings: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])

    def topic(self) -> str | None:
        return topic_of("notes", self.title, *(text for _, text in self.headings if text != self.title))

    def stated(self, text: str) -> str:
        """Return the text with the title of its note where it would not be understood alone."""
        if self.is_general or self.title.lower() in text.lower():
            return text
        return f"{self.title}: {text}"

    @property
    def is_general(self) -> bool:
        """Whether the title says nothing about the content."""
        return self.title.lower() in {"memory", "claude", "claude.local", "agents", "readme", "notes", "index"}


def is_notes(source: Source) -> bool:
    """Check whether it is Markdown, alone, in a folder or in an archive."""
    return next(source.files(".md", ".markdown"), None) is not None


def notes(source: Source) -> Iterator[Entry]:
    """Yield each list entry and each paragraph, under a topic made of the note and its headings."""
    for file in source.files(".md", ".markdown"):
        yield from _note(file)


def is_basic_memory(source: Source) -> bool:
    """Check whether they are notes of basic-memory."""
    return any("permalink" in _fields(file.text) for file in source.files(".md"))


def _note(file: TextFile) -> Iterator[Entry]:
    fields = _fields(file.text)
    stem = re.sub(r"\.(md|markdown)$", "", file.path.rpartition("/")[2], flags=re.IGNORECASE)
    note = _Note(fields.get("title") or stem, file.path, fields)
    at = next((fields[name] for name in ("updated", "modified", "created", "date") if fields.get(name)), file.changed)
    body = _COMMENT.sub("", _CODE.sub("", _FRONT_MATTER.sub("", file.text.replace("\r\n", "\n"))))
    for number, block in enumerate(_blocks(body, note), start=1):
        yield from facts(_sentence(block, note), f"{file.path}, entry {number}", topic=note.topic(), at=str(at))


def _fields(text: str) -> dict[str, str]:
    found = _FRONT_MATTER.match(text.replace("\r\n", "\n"))
    return {name.lower(): value.strip("'\" ") for name, value in _FIELD.findall(found[1])} if found else {}


def _blocks(body: str, note: _Note) -> Iterator[str]:
    """Yield list entries and paragraphs, each while the note stands at its headings."""
    lines: list[str] = []
    for line in [*body.split("\n"), ""]:
        heading, entry = _HEADING.match(line), _ENTRY.match(line)
        if lines and (heading or entry or not line.strip()):
            if (block := " ".join(lines)) and _is_statement(block):
                yield block
            lines = []
        if heading:
            depth = len(heading[1])
            note.headings = [*(one for one in note.headings if one[0] < depth), (depth, _plain(heading[2]))]
        elif entry:
            lines = [entry[1].strip()]
        elif line.strip() and not _INCLUDED.match(line.strip()) and not line.lstrip().startswith(("|", "---", "***")):
            lines.append(line.strip().removeprefix("> "))


def _is_statement(block: str) -> bool:
    if _OBSERVATION.match(block) or _RELATION.match(block):
        return True
    return len(_plain(block).split()) >= SMALLEST_PARAGRAPH or bool(re.search(r"\w{2,}:\s*\S", block))


def _sentence(block: str, note: _Note) -> str:
    """Return the block as a sentence of its own; entries of basic-memory have a form of theirs."""
    if "permalink" in note.fields:
        if relation := _RELATION.match(block):
            return f"{note.title} {relation[1].replace('_', ' ').strip() or 'relates to'} {relation[2]}"
        if observation := _OBSERVATION.match(block):
            return f"{note.title} ({observation[1]}): {_plain(_TAG.sub('', observation[2]))}"
    return note.stated(_plain(block))


def _plain(text: str) -> str:
    text = _WIKI_LINK.sub(lambda link: link[2] or link[1], text)
    return re.sub(r"\*\*|__|`", "", _LINK.sub(r"\1", text)).strip()
