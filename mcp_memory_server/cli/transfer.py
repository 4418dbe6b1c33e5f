"""Commands that export, import or delete everything of a user."""

import argparse
import asyncio
from collections import Counter
from collections.abc import Sequence

from mcp_memory_server.cli.existing import open_existing
from mcp_memory_server.cli.importing.formats import is_own_export
from mcp_memory_server.cli.importing.running import import_of_another_program
from mcp_memory_server.cli.importing.sources import Source, opened_source
from mcp_memory_server.cli.printing import ProgressLine, confirmed, print_json, say
from mcp_memory_server.cli.transferring.export_file import ExportFile, writing
from mcp_memory_server.cli.transferring.markdown import MarkdownPage
from mcp_memory_server.domain.conversations.transcripts import TranscribedTurn, transcript_from
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import InvalidRequestError
from mcp_memory_server.memory import Memory
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring import open_memory
from mcp_memory_server.wiring.session_backends import is_embedded, outbox_file

LINES_BETWEEN_UPDATES = 1000
LOOKS = 50
SECONDS_BETWEEN_LOOKS = 0.2
"""Turns in the outbox get to the table within ten seconds, or are missing from the export."""


async def export(parsed: argparse.Namespace, settings: Settings) -> int:
    """Write everything of the user, or of all users, as JSON Lines; or what a person would read, as Markdown."""
    _check(parsed)
    with writing(parsed.file, force=parsed.force, resume=parsed.resume) as file:
        async with open_existing(settings) as memory:
            waiting = await _deliver(memory, settings)
            owners = await _owners(parsed, settings, memory, file)
            exporting = _Exporting(memory, file, as_markdown=parsed.markdown)
            for owner in owners:
                await exporting.write(owner)
    exporting.report(f"{len(owners):,} users" if parsed.all else repr(settings.user))
    if waiting:
        say(
            f"{waiting:,} turns still wait for the table and are not in it; export again when `doctor` says all is well"
        )
    return 1 if exporting.unreadable or waiting else 0


def _check(parsed: argparse.Namespace) -> None:
    if parsed.all and parsed.user is not None:
        raise InvalidRequestError("give either --user NAME or --all")
    if parsed.markdown and (parsed.all or parsed.resume):
        raise InvalidRequestError(
            "--markdown writes a page about one user at once; it goes with neither --all nor --resume"
        )


async def _deliver(memory: Memory, settings: Settings) -> int:
    """Let turns that were acknowledged in the outbox get to the table, and return how many did not in time."""
    if is_embedded(settings) and not outbox_file(settings).exists():
        return 0
    for _ in range(LOOKS):
        if not (await memory.redrive.waiting()).turns:
            return 0
        await asyncio.sleep(SECONDS_BETWEEN_LOOKS)
    return (await memory.redrive.waiting()).turns


async def _owners(parsed: argparse.Namespace, settings: Settings, memory: Memory, file: ExportFile) -> list[Scope]:
    """Return whose data is still to be exported."""
    if parsed.all:
        return [Scope(user) for user in await memory.archive.users() if user >= (file.last_user or "")]
    if file.last_user not in (None, settings.user):
        raise InvalidRequestError(f"the interrupted export is one of {file.last_user!r}, not of {settings.user!r}")
    return [settings.scope()]


class _Exporting:
    """Writes the lines of one user after the other, and counts them."""

    def __init__(self, memory: Memory, file: ExportFile, *, as_markdown: bool) -> None:
        self._memory = memory
        self._file = file
        self._page = MarkdownPage() if as_markdown else None
        self._progress = ProgressLine("exported")
        self._kinds: Counter[str] = Counter()
        self.unreadable: Counter[str] = Counter()

    async def write(self, owner: Scope) -> None:
        after = self._file.last_line if self._file.last_user == owner.user_id else None
        lines = self._memory.archive.export(owner, after=after, on_unreadable=self._note_unreadable)
        async for line in lines:
            self._file.write(line + "\n") if self._page is None else self._file.write(self._page.text_for(line))
            self._count(line)
        if self._page is not None:
            self._file.write(self._page.end())

    def report(self, whose: str) -> None:
        self._progress.finish()
        turns, sessions = self._kinds["turn"], self._kinds["session"]
        conversations = f" and {turns:,} turns in {sessions:,} sessions" if sessions else ""
        say(f"exported {self._kinds.total() - turns - sessions:,} memories{conversations} of {whose}")
        if self.unreadable:
            what = ", ".join(f"{kind} ({count:,})" for kind, count in sorted(self.unreadable.items()))
            say(f"left out, because it is damaged: {what}; `mcp-memory-server doctor` says more")

    def _note_unreadable(self, what: str) -> None:
        self.unreadable[what] += 1

    def _count(self, line: str) -> None:
        if not line.startswith('{"format"'):
            self._kinds[line[len('{"kind": "') :].partition('"')[0]] += 1
            if self._kinds.total() % LINES_BETWEEN_UPDATES == 0:
                self._progress.show(self._kinds.total())


async def import_(parsed: argparse.Namespace, settings: Settings) -> int:
    """Add memories, or conversations, from a file."""
    if parsed.all and (parsed.user is not None or parsed.transcript):
        raise InvalidRequestError(
            "--all adds what an export holds to the users that it names; no --user or --transcript"
        )
    with opened_source(parsed.file) as source:
        if not parsed.transcript and not is_own_export(source):
            return await import_of_another_program(source, parsed, settings)
        if parsed.dry_run:
            raise InvalidRequestError("--dry-run is for files of other programs; this one overwrites nothing")
        return await _import_lines(source, parsed, settings)


async def _import_lines(source: Source, parsed: argparse.Namespace, settings: Settings) -> int:
    progress = ProgressLine("imported")
    if parsed.transcript:
        return await _transcribe(parsed, settings, transcript_from(source.lines), progress)
    async with open_memory(settings) as memory:
        owner = None if parsed.all else settings.scope()
        imported = await memory.archive.import_(owner, source.lines, progress.show)
    progress.finish()
    if parsed.json:
        done = {"added": imported.added, "known": imported.known, "forgotten": imported.forgotten}
        print_json(done | ({"expired": imported.expired} if imported.expired else {}))
    else:
        expired = f", expired since {imported.expired:,}" if imported.expired else ""
        counts = f"added {imported.added:,}, known before {imported.known:,}, forgotten before {imported.forgotten:,}"
        print(counts + expired)
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
        done = await memory.erasure.forget_user(scope, progress.show)
    progress.finish()
    for reason in done.missing:
        say(f"not deleted yet: {reason}")
    for place in done.unreachable:
        say(f"out of reach from here: {place}")
    if done.missing:
        print(f"deleted {done.removed:,} items of {parsed.name!r}, and not all; run it again")
        return 1
    print(f"deleted {done.removed:,} items; nothing of {parsed.name!r} is left")
    return 0
