"""Memory as a folder of files, which is how Claude's memory tool sees it.

A file is kept as it was written, until it is deleted. Its lines are facts too, so that `recall` finds them in every
client. What is known otherwise is shown in files below ``known``, which can only be read.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from mcp_memory_server import Fact, ForgottenError, InvalidRequestError, Memory, NotFoundError, Scope, Statement

ROOT = "/memories"
KNOWN = "known"
"""The folder of what is known otherwise."""
TOPIC = "files"
PREFIX = "memory-files/"
LARGEST_FILE = 1024 * 1024
FEWEST_WORDS = 2

_ENTRY = re.compile(r"^(?:[-*+•]|\d+[.)])\s+(?:\[[ xX]\]\s+)?")
_NO_STATEMENT = re.compile(r"^(?:#|<|```|---|===|\|)")


class MemoryFileError(Exception):
    """A command cannot be carried out. The message is for the model."""


@dataclass(frozen=True)
class MemoryFile:
    """A file: its text, and the ids of the facts that its lines are."""

    text: str
    facts: Mapping[str, str] = field(default_factory=dict[str, str])

    def encoded(self) -> bytes:
        """Return the file as it is stored."""
        return json.dumps({"text": self.text, "facts": dict(self.facts)}, ensure_ascii=False).encode()

    @staticmethod
    def decoded(data: bytes) -> "MemoryFile":
        """Return the file that was stored."""
        stored = json.loads(data)
        return MemoryFile(stored["text"], stored["facts"])


def path_within(path: str) -> str:
    """Return the path below the folder of memories, empty for the folder itself.

    Raises:
        MemoryFileError: It is not below that folder.
    """
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise MemoryFileError(f"Path must start with {ROOT}, got: {path}")
    parts = [part for part in path[len(ROOT) :].split("/") if part not in ("", ".")]
    if ".." in parts or "\\" in path or "\0" in path or "%2e" in path.lower():
        raise MemoryFileError(f"Path {path} would escape {ROOT} directory")
    return "/".join(parts)


class MemoryFiles:
    """The files of one user."""

    def __init__(self, memory: Memory, scope: Scope) -> None:
        self._memory = memory
        self._scope = scope

    async def names(self) -> dict[str, int]:
        """Return the paths of all files, with their sizes in bytes."""
        own = await self._own_names()
        sizes = {name: len((await self.read(name)).encode()) for name in own}
        return sizes | {name: len(text.encode()) for name, text in (await self._known()).items()}

    async def read(self, name: str) -> str:
        """Return the text of a file.

        Raises:
            NotFoundError: There is none.
        """
        if is_known(name):
            known = await self._known()
            if name not in known:
                raise NotFoundError(f"there is no file {name!r}")
            return known[name]
        return (await self._without_forgotten(name, await self._stored(name))).text

    async def write(self, name: str, text: str) -> None:
        """Write a file in place of an earlier one. What it says no longer is superseded, or forgotten."""
        check_writable(name)
        if len(text.encode()) > LARGEST_FILE:
            raise MemoryFileError(f"The file {ROOT}/{name} would be over the limit of {LARGEST_FILE:,} bytes")
        try:
            before = await self._stored(name)
        except NotFoundError:
            before = MemoryFile("")
        facts = await self._learned(name, before, text)
        await self._keep(name, MemoryFile(text, facts))

    async def delete(self, name: str) -> None:
        """Delete a file, and forget what only it said."""
        check_writable(name)
        before = await self._stored(name)
        await self._forget(name, before.facts.values())
        await self._memory.snapshots.delete(self._scope, PREFIX + name)

    async def rename(self, name: str, new_name: str) -> None:
        """Give a file another name."""
        check_writable(name)
        check_writable(new_name)
        await self._keep(new_name, await self._stored(name))
        await self._memory.snapshots.delete(self._scope, PREFIX + name)

    async def _own_names(self) -> list[str]:
        names = await self._memory.snapshots.names(self._scope, PREFIX)
        return [name.removeprefix(PREFIX) for name in names]

    async def _stored(self, name: str) -> MemoryFile:
        return MemoryFile.decoded(await self._memory.snapshots.read(self._scope, PREFIX + name))

    async def _keep(self, name: str, file: MemoryFile) -> None:
        await self._memory.snapshots.write(self._scope, PREFIX + name, file.encoded(), life=None)

    async def _learned(self, name: str, before: MemoryFile, text: str) -> dict[str, str]:
        """Learn the new lines, in place of those that they replace, and return the facts of all lines by line."""
        lines = statements_of(text)
        kept = {line: before.facts[line] for line in lines if line in before.facts}
        gone = [line for line in before.facts if line not in kept]
        for line in [line for line in lines if line not in kept]:
            replaced = gone.pop(0) if gone else None
            if (fact := await self._learn(name, line, replaces=before.facts.get(replaced or ""))) is not None:
                kept[line] = fact.id
            elif replaced is not None:
                gone.append(replaced)
        await self._forget(name, [before.facts[line] for line in gone])
        return kept

    async def _learn(self, name: str, line: str, *, replaces: str | None) -> Fact | None:
        """Learn a line; None if it cannot be a fact: it was forgotten, is too long, or holds a credential."""
        with suppress(ForgottenError, InvalidRequestError):
            statement = Statement(line, topic=_topic(name))
            named = replaces if replaces is not None and await self._is_of_files(replaces) else None
            try:
                return (await self._memory.facts.learn(self._scope, statement, replaces=named)).fact
            except NotFoundError:  # it was replaced or forgotten elsewhere
                return (await self._memory.facts.learn(self._scope, statement)).fact
        return None

    async def _forget(self, name: str, ids: Iterable[str]) -> None:
        """Forget facts that came from this file, unless another file says the same."""
        others = [one for one in await self._own_names() if one != name]
        elsewhere = {fact for other in others for fact in (await self._stored(other)).facts.values()}
        for fact_id in ids:
            if fact_id not in elsewhere and await self._is_of_files(fact_id):
                with suppress(NotFoundError):
                    await self._memory.erasure.forget(self._scope, fact_id)

    async def _is_of_files(self, fact_id: str) -> bool:
        """Check whether the fact was learned from a file: what was said elsewhere stays."""
        with suppress(NotFoundError):
            return ((await self._memory.facts.get(self._scope, fact_id)).topic or "").startswith(f"{TOPIC}/")
        return False

    async def _without_forgotten(self, name: str, file: MemoryFile) -> MemoryFile:
        """Return the file without lines that were forgotten elsewhere, which are removed for good."""
        existing = {fact.id for fact in await self._memory.facts.all(self._scope, past=True)}
        forgotten = {line for line, fact_id in file.facts.items() if fact_id not in existing}
        if not forgotten:
            return file
        lines = [line for line in file.text.split("\n") if _statement(line) not in forgotten]
        facts = {line: fact_id for line, fact_id in file.facts.items() if line not in forgotten}
        file = MemoryFile("\n".join(lines), facts)
        await self._keep(name, file)
        return file

    async def _known(self) -> dict[str, str]:
        """Return what is known otherwise: a file for the preferences, and one for each first part of the topics."""
        by_name: dict[str, list[str]] = {}
        for preference in await self._memory.preferences.all(self._scope):
            by_name.setdefault(f"{KNOWN}/preferences.md", []).append(f"- {preference.key}: {preference.value}")
        for fact in await self._memory.facts.all(self._scope):
            first = (fact.topic or "other").partition("/")[0]
            if first != TOPIC:
                dates = f" (since {fact.since})" if fact.since else ""
                by_name.setdefault(f"{KNOWN}/{_file_name(first)}.md", []).append(f"- {fact.text}{dates}")
        return {name: "\n".join(lines) + "\n" for name, lines in sorted(by_name.items())}


def is_known(name: str) -> bool:
    """Check whether this is the folder of what is known otherwise, or below it."""
    return name == KNOWN or name.startswith(f"{KNOWN}/")


def check_writable(name: str) -> None:
    """Refuse to change what is known otherwise.

    Raises:
        MemoryFileError: It is below that folder.
    """
    if is_known(name):
        raise MemoryFileError(f"{ROOT}/{KNOWN} shows what is known and can only be read; write another file")


def statements_of(text: str) -> list[str]:
    """Return the lines that state something, each once: list entries and sentences, no headings, tags or code."""
    found: list[str] = []
    is_code = False
    for line in text.split("\n"):
        is_code ^= line.lstrip().startswith("```")
        statement = _statement(line)
        if not is_code and statement and statement not in found and len(statement.split()) >= FEWEST_WORDS:
            found.append(statement)
    return found


def _statement(line: str) -> str:
    line = line.strip()
    return "" if _NO_STATEMENT.match(line) else _ENTRY.sub("", line).strip()


def _topic(name: str) -> str:
    return "/".join([TOPIC, *(part.strip() or "-" for part in name.split("/"))])[:120].rstrip("/")


def _file_name(topic: str) -> str:
    return re.sub(r"[^\w-]+", "-", topic.lower()).strip("-") or "other"


def entries_below(folder: str, sizes: Mapping[str, int], *, depth: int) -> Sequence[tuple[str, int | None]]:
    """Return the paths below a folder, sorted, up to this depth: files with their size, folders with none."""
    prefix = f"{folder}/" if folder else ""
    found: dict[str, int | None] = {}
    for name, size in sizes.items():
        if name.startswith(prefix):
            parts = name[len(prefix) :].split("/")
            if any(part.startswith(".") for part in parts):
                continue
            for end in range(1, min(len(parts), depth) + 1):
                found["/".join(parts[:end])] = size if end == len(parts) else None
    return sorted(found.items(), key=lambda entry: entry[0].split("/"))
