"""The command that keeps a Markdown file in step with the memory, in both directions.

What is known is a section between two comments. The second one lists the ids of the facts that were written, so that
the next run sees which lines a person, or an agent with notes of its own, added, changed or deleted since.
"""

import argparse
import difflib
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mcp_memory_server.cli.printing import print_json, say
from mcp_memory_server.domain.facts.fact import Fact, Statement, fact_id
from mcp_memory_server.domain.facts.preferences import Preference
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.text import one_line
from mcp_memory_server.errors import InvalidRequestError, MemoryServerError
from mcp_memory_server.memory import Memory
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import open_memory

BEGIN = "<!-- agent-memory: what follows is kept in step by `mcp-memory-server sync`; lines may be changed -->"
PREFERENCES = "**Preferences**"
FACTS = "**Facts**"

_SECTION = re.compile(rf"^{re.escape(BEGIN)}\n(.*?)^<!-- agent-memory end:([^\n]*)-->\n?", re.MULTILINE | re.DOTALL)
_ENTRY = re.compile(r"^\s*[-*+]\s+(.*\S)\s*$")


@dataclass
class Changes:
    """What was changed in the memory because of the file."""

    learned: int = 0
    replaced: int = 0
    ended: int = 0
    preferences: int = 0
    refused: list[str] = field(default_factory=list[str])


@dataclass(frozen=True)
class Section:
    """The section of the file: its facts and preferences, and the ids of the facts that were written there before."""

    facts: Sequence[str]
    preferences: Sequence[tuple[str, str]]
    written: Sequence[str]


async def sync(parsed: argparse.Namespace, settings: Settings) -> int:
    """Take over what was changed in the file, and write what is known into it."""
    file = Path(parsed.file)
    text = _text_of(file)
    async with open_memory(settings) as memory:
        scope, changes = settings.scope(), Changes()
        section = section_of(text)
        if section is not None and not parsed.dry_run:
            await _take_over(memory, scope, section, changes)
        facts = sorted(await memory.facts.all(scope), key=lambda fact: fact.valid_from, reverse=True)
        text = with_section(text, facts[: max(parsed.lines, 0)], await memory.preferences.all(scope))
    if parsed.dry_run:
        print(text, end="")
        return 0
    _write(file, text)
    if parsed.json:
        print_json(vars(changes) | {"written": min(len(facts), max(parsed.lines, 0))})
    else:
        print(f"{file}: learned {changes.learned}, replaced {changes.replaced}, ended {changes.ended}")
    for reason in changes.refused:
        say(f"not taken over: {reason}")
    return 0


def section_of(text: str) -> Section | None:
    """Return the section of a file; None if it has none yet."""
    found = _SECTION.search(text)
    if found is None:
        return None
    before, _, after = found[1].partition(FACTS)
    pairs = [entry.partition(":") for entry in _entries(before)]
    preferences = [(key.strip(), value.strip()) for key, colon, value in pairs if colon]
    return Section(_entries(after), preferences, found[2].split())


def with_section(text: str, facts: Sequence[Fact], preferences: Sequence[Preference]) -> str:
    """Return the file with a section of what is known, in place of the earlier one or at its end."""
    lines = [BEGIN]
    if preferences:
        lines += [PREFERENCES, "", *(f"- {one.key}: {one_line(one.value)}" for one in preferences), ""]
    lines += [FACTS, "", *(f"- {one_line(fact.text)}" for fact in facts), ""]
    ids = " ".join(fact_id(one_line(fact.text)) for fact in facts)
    section = "\n".join([*lines, f"<!-- agent-memory end: {ids} -->"]) + "\n"
    if _SECTION.search(text):
        return _SECTION.sub(lambda _: section, text, count=1)
    separator = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    return f"{text}{separator}{section}"


async def _take_over(memory: Memory, scope: Scope, section: Section, changes: Changes) -> None:
    known = {one.key: one.value for one in await memory.preferences.all(scope)}
    for key, value in section.preferences:
        if known.get(key) != value:
            await memory.preferences.set(scope, key, value)
            changes.preferences += 1
    present = [fact_id(text) for text in section.facts]
    steps = difflib.SequenceMatcher(None, section.written, present, autojunk=False).get_opcodes()
    for kind, first, last, start, stop in steps:
        if kind == "equal":
            continue
        gone = [one for one in section.written[first:last] if one not in present]
        new = [text for text in section.facts[start:stop] if fact_id(text) not in section.written]
        for text in new:
            await _learn(memory, scope, text, gone.pop(0) if gone else None, changes)
        for one in gone:
            await _end(memory, scope, one, changes)


async def _learn(memory: Memory, scope: Scope, text: str, replaces: str | None, changes: Changes) -> None:
    try:
        earlier = None if replaces is None else await _fact(memory, scope, replaces)
        topic = None if earlier is None else earlier.topic
        named = None if earlier is None else earlier.id
        await memory.facts.learn(scope, Statement(text, topic=topic), replaces=named)
        if earlier is None:
            changes.learned += 1
        else:
            changes.replaced += 1
    except MemoryServerError as error:
        changes.refused.append(f"{text!r}: {error}")


async def _end(memory: Memory, scope: Scope, written: str, changes: Changes) -> None:
    if (fact := await _fact(memory, scope, written)) is not None:
        await memory.facts.end(scope, fact.id)
        changes.ended += 1


async def _fact(memory: Memory, scope: Scope, written: str) -> Fact | None:
    """Return the current fact of which this is the id; None if it was changed or forgotten elsewhere."""
    for fact in await memory.facts.all(scope):
        if fact_id(one_line(fact.text)) == written:
            return fact
    return None


def _entries(text: str) -> list[str]:
    return [entry[1] for line in text.split("\n") if (entry := _ENTRY.match(line))]


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8") if file.exists() else ""
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequestError(f"cannot read {str(file)!r}: {error}") from error


def _write(file: Path, text: str) -> None:
    """Write the file in one step; a new one is readable by its owner only."""
    draft = file.with_name(f".{file.name}.{os.getpid()}")
    mode = file.stat().st_mode & 0o777 if file.exists() else 0o600
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "w", encoding="utf-8") as opened:
            opened.write(text)
        draft.replace(file)
    except OSError as error:
        raise InvalidRequestError(f"cannot write {str(file)!r}: {error.strerror}") from error
    finally:
        draft.unlink(missing_ok=True)
