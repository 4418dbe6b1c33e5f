"""The file of an export, which only its owner can read: it holds everything about a person.

It gets its name when it is complete, so that a failed export keeps the earlier file. Until then its name ends in
``.part``; a part that was begun stays after an interruption, and can be continued after its last whole line.
"""

import contextlib
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TextIO

from mcp_memory_server.cli.importing.sources import STANDARD_INPUT as STANDARD_STREAM
from mcp_memory_server.cli.printing import say
from mcp_memory_server.errors import ConfigurationError, InvalidRequestError
from mcp_memory_server.schema.exported.lines import user_of

PART = ".part"


@dataclass
class ExportFile:
    """What is written to, and where an interrupted export stopped: its last line, and the user of that."""

    file: TextIO
    last_user: str | None = None
    last_line: str | None = None
    lines: int = 0

    def write(self, text: str) -> None:
        """Write one or more lines."""
        self.file.write(text)
        self.lines += 1


@contextlib.contextmanager
def writing(name: str, *, force: bool, resume: bool) -> Iterator[ExportFile]:
    """Open the file of an export, or standard output.

    Raises:
        InvalidRequestError: It exists, or an interrupted export does, or there is none to resume.
        ConfigurationError: It cannot be written.
    """
    if name == STANDARD_STREAM:
        if resume:
            raise InvalidRequestError("--resume needs the name of the file")
        yield ExportFile(sys.stdout)
        sys.stdout.flush()  # before success is reported: the disk may be full, or the pipe closed
        return
    target = Path(name).resolve()
    part = target.with_name(target.name + PART)
    _check(name, target, part, force=force, resume=resume)
    last_user, last_line = _stopped_at(part) if resume else (None, None)
    with _opened(name, part, resume=resume) as file:
        export = ExportFile(file, last_user, last_line)
        try:
            yield export
            file.flush()
        except BaseException:
            if export.lines > 1 or last_line is not None:
                say(f"what was exported so far is in {part.name!r}; --resume continues there")
            else:
                part.unlink(missing_ok=True)
            raise
    part.replace(target)


def _check(name: str, target: Path, part: Path, *, force: bool, resume: bool) -> None:
    if target.exists() and not (force and target.is_file()):
        raise InvalidRequestError(f"{name!r} exists; choose another name, or pass --force to overwrite a file")
    if resume and not part.exists():
        raise InvalidRequestError(f"there is no interrupted export to resume: {str(part)!r} does not exist")
    if part.exists() and not (resume or force):
        raise InvalidRequestError(
            f"an earlier export to {name!r} was interrupted; --resume continues it, and --force starts anew"
        )


@contextlib.contextmanager
def _opened(name: str, part: Path, *, resume: bool) -> Iterator[TextIO]:
    try:
        if not resume:
            part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_APPEND | (0 if resume else os.O_EXCL), 0o600)
    except OSError as error:
        raise ConfigurationError(f"cannot write {name!r}: {error.strerror}") from error
    with os.fdopen(descriptor, "a", encoding="utf-8", newline="\n") as file:
        yield file


def _stopped_at(part: Path) -> tuple[str | None, str | None]:
    """Return the user and the text of the last whole line, and cut off what comes after it.

    Raises:
        InvalidRequestError: The file is not the beginning of an export.
    """
    with part.open("r+b") as file:
        user, line, end = _last_line(part, file)
        file.truncate(end)
    return user, line


def _last_line(part: Path, file: BinaryIO) -> tuple[str | None, str | None, int]:
    user: str | None = None
    last, end = b"", 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        if line.startswith(b'{"format"'):
            user = user_of(line.decode())
        last, end = line, end + len(line)
    if end and user is None:
        raise InvalidRequestError(f"{str(part)!r} is not the beginning of an export")
    return user, last.decode().removesuffix("\n") or None, end
