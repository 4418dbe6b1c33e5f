"""Making a SQLite file, telling whose a file is, and whether it is still the one that was opened."""

import os
import sqlite3
import struct
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_OWNER_ONLY_FILE = 0o600
_OWNER_ONLY_FOLDER = 0o700


@dataclass(frozen=True)
class Header:
    """What the beginning of a file says: which program made it, and in which format."""

    application_id: int
    user_version: int


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


def identity_of(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one under the same name; None if there is none."""
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
