"""Importing the memories of another program: read, show or write, and report."""

import argparse
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import BadZipFile

from mcp_memory_server.cli.existing import missing_file
from mcp_memory_server.cli.importing.entries import Entry, Refused
from mcp_memory_server.cli.importing.formats import format_of
from mcp_memory_server.cli.importing.sources import Source
from mcp_memory_server.cli.printing import ProgressLine, print_json, print_table, say
from mcp_memory_server.domain.conversations.transcripts import TranscribedTurn
from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory
from mcp_memory_server.services.conversations.conversations import Transcribed
from mcp_memory_server.services.users.imports import ImportedFacts
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import open_memory

SHOWN = 10
"""How many statements a dry run shows, and how many refused parts are listed."""


async def import_of_another_program(source: Source, parsed: argparse.Namespace, settings: Settings) -> int:
    """Add the memories and conversations of another program; 0 also if some parts could not be used."""
    with _named(source):
        recognised = format_of(source)
        entries = _read(recognised.read(source, parsed.owner))
    statements = [one for one in entries if isinstance(one, Statement)]
    turns = [one for one in entries if isinstance(one, TranscribedTurn)]
    refused = [one for one in entries if isinstance(one, Refused)]
    progress = ProgressLine("imported")
    async with _opened(settings, dry_run=parsed.dry_run) as memory:
        scope, dry_run = settings.scope(), parsed.dry_run
        facts = await memory.imports.learn_all(scope, statements, progress.show, dry_run=dry_run)
        said = await memory.conversations.transcribe(scope, turns, progress.show, dry_run=dry_run)
    progress.finish()
    if parsed.json:
        print_json(_values(recognised.title, facts, said, refused))
        return 0
    say(f"{source.name}: {recognised.title}")
    if parsed.dry_run:
        _show(statements, turns)
    _report(facts, said, refused, done="would add" if parsed.dry_run else "added")
    return 0


@contextmanager
def _named(source: Source) -> Iterator[None]:
    """Report data of another shape than its program writes in one line. Nothing was written yet."""
    try:
        yield
    except (
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        BadZipFile,
    ) as error:
        reason = f"{type(error).__name__}: {error}"
        raise InvalidRequestError(f"{source.name!r} cannot be read ({reason}). Nothing was imported") from error


def _read(entries: Any) -> list[Entry]:
    progress, found = ProgressLine("read"), list[Entry]()
    for entry in entries:
        found.append(entry)
        if len(found) % 1000 == 0:
            progress.show(len(found))
    progress.finish()
    return found


@asynccontextmanager
async def _opened(settings: Settings, *, dry_run: bool) -> AsyncGenerator[Memory]:
    """Open the memory. A dry run that finds no file creates none: it is compared with an empty memory elsewhere."""
    if not dry_run or missing_file(settings) is None:
        async with open_memory(settings) as memory:
            yield memory
        return
    with TemporaryDirectory() as folder:
        async with open_memory(settings.model_copy(update={"table": f"sqlite://{folder}/none.db"})) as memory:
            yield memory


def _show(statements: Sequence[Statement], turns: Sequence[TranscribedTurn]) -> None:
    rows = [[_day(one), one.topic or "", one.text] for one in statements[:SHOWN]]
    if rows:
        print_table(["said", "topic", "fact"], rows, "", optional=["topic"])
    rows = [[one.turn.role.value, one.session_id, one.turn.content] for one in turns[:SHOWN]]
    if rows:
        print_table(["role", "session", "turn"], rows, "", optional=["session"])


def _day(statement: Statement) -> str:
    return f"{statement.said_at:%Y-%m-%d}" if statement.said_at else ""


def _report(facts: ImportedFacts, said: Transcribed, refused: Sequence[Refused], *, done: str) -> None:
    merged = f", duplicates merged {facts.merged:,}" if facts.merged else ""
    print(f"{done} {facts.added:,}, known before {facts.known:,}, forgotten before {facts.forgotten:,}{merged}")
    if said.sessions:
        redacted = f"; {said.redacted:,} passwords, keys or tokens were redacted" if said.redacted else ""
        print(f"{done} {said.added:,} turns in {said.sessions:,} sessions, known before {said.known:,}{redacted}")
    for one in refused[:SHOWN]:
        say(f"refused: {one.where}: {one.reason}")
    if len(refused) > SHOWN:
        say(f"refused: {len(refused) - SHOWN:,} more")


def _values(title: str, facts: ImportedFacts, said: Transcribed, refused: Sequence[Refused]) -> dict[str, Any]:
    return {"format": title, **asdict(facts), "turns": asdict(said), "refused": [asdict(one) for one in refused]}
