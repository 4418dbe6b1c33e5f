"""Commands that export, import or delete everything of a user."""

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from mcp_memory_server.cli.existing import open_existing
from mcp_memory_server.cli.importing.formats import is_own_export
from mcp_memory_server.cli.importing.running import import_of_another_program
from mcp_memory_server.cli.importing.sources import Source
from mcp_memory_server.cli.printing import ProgressLine, confirmed, print_json, say
from mcp_memory_server.domain.conversations.transcripts import TranscribedTurn, transcript_from
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import ConfigurationError, InvalidRequestError
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import open_memory

STANDARD_STREAM = "-"
LINES_BETWEEN_UPDATES = 1000


async def export(parsed: argparse.Namespace, settings: Settings) -> int:
    """Write everything of the user as JSON Lines."""
    progress, count = ProgressLine("exported"), 0
    with _writing(parsed.file, force=parsed.force) as file:
        async with open_existing(settings) as memory:
            async for line in memory.archive.export(settings.scope()):
                file.write(line + "\n")
                count += 1
                if count % LINES_BETWEEN_UPDATES == 0:
                    progress.show(count)
        file.flush()  # before success is reported: the disk may be full, or the pipe closed
    say(f"exported {count - 1:,} memories of {settings.user!r}")
    return 0


async def import_(parsed: argparse.Namespace, settings: Settings) -> int:
    """Add memories, or conversations, from a file."""
    source, progress = Source(parsed.file), ProgressLine("imported")
    if not parsed.transcript and not is_own_export(source):
        return await import_of_another_program(source, parsed, settings)
    if parsed.dry_run:
        raise InvalidRequestError("--dry-run is for files of other programs; this one overwrites nothing")
    lines = source.text.split("\n")  # not splitlines: it also splits at line separators inside a memory
    if parsed.transcript:
        return await _transcribe(parsed, settings, transcript_from(lines), progress)
    async with open_memory(settings) as memory:
        imported = await memory.archive.import_(settings.scope(), lines, progress.show)
    progress.finish()
    if parsed.json:
        print_json({"added": imported.added, "known": imported.known, "forgotten": imported.forgotten})
    else:
        print(f"added {imported.added:,}, known before {imported.known:,}, forgotten before {imported.forgotten:,}")
    return 0


async def _transcribe(
    parsed: argparse.Namespace, settings: Settings, turns: Sequence[TranscribedTurn], progress: ProgressLine
) -> int:
    async with open_memory(settings) as memory:
        done = await memory.conversations.transcribe(settings.scope(), turns, progress.show)
    progress.finish()
    if parsed.json:
        counts = {"added": done.added, "known": done.known, "sessions": done.sessions}
        print_json(counts | ({"redacted": done.redacted} if done.redacted else {}))
    else:
        redacted = f"; {done.redacted:,} passwords, keys or tokens were redacted" if done.redacted else ""
        print(f"added {done.added:,} turns in {done.sessions:,} sessions, known before {done.known:,}{redacted}")
    return 0


async def forget_user(parsed: argparse.Namespace, settings: Settings) -> int:
    """Delete everything of a user."""
    scope, progress = Scope(parsed.name), ProgressLine("deleted")
    if not parsed.yes and not confirmed(
        f"This deletes everything that is known about {parsed.name!r}, for good. Type the name to go on:", parsed.name
    ):
        raise InvalidRequestError("nothing was deleted: type the user's name when asked, or pass --yes")
    async with open_existing(settings) as memory:
        await memory.tool_log.drain()
        removed = await memory.erasure.forget_user(scope, progress.show)
    progress.finish()
    print(f"deleted {removed:,} items; nothing of {parsed.name!r} is left")
    return 0


@contextlib.contextmanager
def _writing(name: str, *, force: bool) -> Iterator[TextIO]:
    """Open a file that only its owner can read, because it will hold everything about a person.

    It gets its name when it is complete, so that a failed export keeps the earlier file.
    """
    if name == STANDARD_STREAM:
        yield sys.stdout
        return
    target = Path(name).resolve()
    if target.exists() and not (force and target.is_file()):
        raise InvalidRequestError(f"{name!r} exists; choose another name, or pass --force to overwrite a file")
    draft = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise ConfigurationError(f"cannot write {name!r}: {error.strerror}") from error
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            yield file
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)
