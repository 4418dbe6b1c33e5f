"""Make a SQLite file, and check which program made one, and that it is the same one still."""

import os
import sqlite3
import struct
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from mcp_memory_server.errors import MemoryServerError

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_OWNER_ONLY_FILE = 0o600
_OWNER_ONLY_FOLDER = 0o700


@dataclass(frozen=True)
class Header:
    """What the beginning of a file says: which program made it, and in which format."""

    application_id: int
    user_version: int


@dataclass(frozen=True)
class FileKind:
    """A kind of file of ours: what it is called, how it is recognised, and how another one is refused."""

    name: str
    application_id: int
    format: int
    error: type[MemoryServerError]
    advice: Callable[[Path], str]


def make_file(path: Path, script: str) -> None:
    """Build the file under another name and link it into place, so that no process ever sees half of it.

    Only its owner can read it. If another process was first, its file is as good.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=_OWNER_ONLY_FOLDER)
    draft = path.with_name(f".{path.name}.{os.getpid()}.{os.urandom(4).hex()}")
    os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, _OWNER_ONLY_FILE))
    try:
        with closing(sqlite3.connect(draft)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            connection.executescript(script)
        with suppress(FileExistsError):
            os.link(draft, path)
        _sync_folder(path.parent)
    finally:
        for leftover in path.parent.glob(f"{draft.name}*"):
            leftover.unlink()


def header_of(path: Path) -> Header | None:
    """Return what the file says it is, None if it is no SQLite file, or its beginning is damaged."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    if len(header) < _HEADER_BYTES or not header.startswith(_MAGIC):
        return None
    user_version, application_id = struct.unpack(">60xI4xI28x", header)
    return Header(application_id, user_version)


def check_header(path: Path, kind: FileKind) -> None:
    """Refuse a file that is not of this kind, with an error that says what to do. It is left untouched."""
    if not path.stat().st_size:
        raise kind.error(f"{str(path)!r} is empty, so what it held is lost. {kind.advice(path)}")
    header = header_of(path)
    if header is None:
        raise kind.error(f"{str(path)!r} is not {kind.name}, or its beginning is damaged. {kind.advice(path)}")
    if header.application_id != kind.application_id:
        raise kind.error(f"{str(path)!r} is a database of another program. {kind.advice(path)}")
    if header.user_version > kind.format:
        raise kind.error(
            f"{str(path)!r} was written by a newer release (format {header.user_version}, this one reads "
            f"{kind.format}). Upgrade mcp-agent-memory"
        )


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return the identity of a file, which another one under the same name has not; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
