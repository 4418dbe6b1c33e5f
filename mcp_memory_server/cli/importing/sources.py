"""What an import reads: a file, a folder, an archive, a database file, or the standard input."""

import gzip
import io
import json
import shutil
import sqlite3
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

from mcp_memory_server.cli.printing import interruptible
from mcp_memory_server.errors import InvalidRequestError

STANDARD_INPUT = "-"
LARGEST_MEMBER = 4 * 1024**3
"""The largest file in an archive that is read: a larger one is no export, and might fill the memory."""

HEAD_BYTES = 64 * 1024

_SQLITE = b"SQLite format 3\0"
_GZIP = b"\x1f\x8b"
_HIDDEN = (".", "__MACOSX", "node_modules")


@dataclass(frozen=True)
class TextFile:
    """A file of an import, with its path within the folder or archive and the time of its last change."""

    path: str
    text: str
    changed: datetime


class Lines:
    """The lines of a file, which can be read more than once. Only a line feed ends one."""

    def __init__(self, name: str, path: Path) -> None:
        self._name = name
        self._path = path

    def __iter__(self) -> Iterator[str]:
        """Yield the lines from the first one on.

        Raises:
            InvalidRequestError: The file cannot be read, or is not UTF-8 text.
        """
        start = 0
        try:
            with self._path.open("rb") as file:
                for line in file:
                    yield line.decode("utf-8-sig" if not start else "utf-8").removesuffix("\n")
                    start += len(line)
        except UnicodeDecodeError as error:
            raise InvalidRequestError(f"{self._name!r} is not UTF-8 text (byte {start + error.start})") from None
        except OSError as error:
            raise InvalidRequestError(f"cannot read {self._name!r}: {error.strerror}") from error


@dataclass
class Source:
    """The input. What it holds is found out when a format asks for it."""

    name: str
    copy: Path | None = None
    """Where the standard input was copied to."""

    @property
    def path(self) -> Path:
        """The path of the file or folder."""
        return self.copy or Path(self.name)

    @cached_property
    def data(self) -> bytes:
        """The bytes of the file; empty for a folder."""
        try:
            data = b"" if self.path.is_dir() else self.path.read_bytes()
            return gzip.decompress(data) if data.startswith(_GZIP) else data
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise InvalidRequestError(f"{self.name!r} is damaged: {error}") from error
        except OSError as error:
            raise InvalidRequestError(f"cannot read {self.name!r}: {error.strerror}") from error

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.path.is_dir()

    @property
    def is_database(self) -> bool:
        """Whether it is a file of SQLite."""
        return self.head.startswith(_SQLITE)

    @property
    def is_archive(self) -> bool:
        """Whether it is a zip file."""
        return self.head.startswith(b"PK\x03\x04")

    @cached_property
    def head(self) -> bytes:
        """The first bytes of the file, so that a large one need not be read to be recognised."""
        try:
            if self.is_folder:
                return b""
            with self.path.open("rb") as file:
                head = file.read(HEAD_BYTES)
        except OSError as error:
            raise InvalidRequestError(f"cannot read {self.name!r}: {error.strerror}") from error
        return self.data[:HEAD_BYTES] if head.startswith(_GZIP) else head

    @property
    def beginning(self) -> str:
        """The beginning of the text, with a sign for each byte that is none."""
        return self.head.decode("utf-8-sig", errors="replace")

    @property
    def lines(self) -> Iterable[str]:
        """The lines of the text, which are not held in memory unless the file is compressed."""
        # Not splitlines: it also splits at line separators inside a memory.
        return self.text.split("\n") if "data" in self.__dict__ else Lines(self.name, self.path)

    @cached_property
    def text(self) -> str:
        """The text of the file.

        Raises:
            InvalidRequestError: It is not UTF-8.
        """
        try:
            return self.data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise InvalidRequestError(f"{self.name!r} is not UTF-8 text (byte {error.start})") from None

    @cached_property
    def document(self) -> Any:
        """The JSON value of the file; None if it is not one JSON value."""
        return _json(self.text)

    @cached_property
    def records(self) -> list[dict[str, Any]]:
        """The objects of JSON Lines; empty if the first line is none."""
        lines = [line for line in self.text.split("\n") if line.strip()]
        if not lines or not isinstance(_json(lines[0]), dict):
            return []
        found: list[dict[str, Any]] = []
        for number, line in enumerate(lines, start=1):
            try:
                record = json.loads(line)
            except ValueError as error:
                raise InvalidRequestError(f"line {number} is not JSON: {error}") from None
            if not isinstance(record, dict):
                raise InvalidRequestError(f"line {number}: an object in braces was expected")
            found.append(record)
        return found

    def documents(self, name: str) -> Iterator[tuple[str, Any]]:
        """Yield the JSON files of a folder or an archive whose names begin like this, and a file itself."""
        if not (self.is_folder or self.is_archive):
            if not self.is_database and (document := self.document) is not None:
                yield self.path.name, document
            return
        for file in self.files(".json"):
            if Path(file.path).name.startswith(name):
                yield file.path, _json(file.text)

    def files(self, *endings: str) -> Iterator[TextFile]:
        """Yield the text files with these endings of a folder or an archive, or the file itself."""
        if self.is_folder:
            yield from self._files_of_folder(endings)
        elif self.is_archive:
            yield from self._files_of_archive(endings)
        elif self.path.name.lower().endswith(endings):
            changed = datetime.fromtimestamp(self.path.stat().st_mtime, UTC)
            yield TextFile(self.path.name, self.text, changed)

    def rows(self, statement: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a query of a database file, which is opened for reading only."""
        with closing(sqlite3.connect(f"{self.path.absolute().as_uri()}?mode=ro", uri=True)) as database:
            database.row_factory = sqlite3.Row
            try:
                for row in database.execute(statement):
                    yield dict(row)
            except sqlite3.Error as error:
                raise InvalidRequestError(f"{self.name!r} cannot be read: {error}") from error

    @cached_property
    def columns(self) -> dict[str, set[str]]:
        """The names of the columns of each table of a database file."""
        tables = [row["name"] for row in self.rows("SELECT name FROM sqlite_master WHERE type = 'table'")]
        quoted = {name: name.replace('"', '""') for name in tables}
        return {name: {row["name"] for row in self.rows(f'PRAGMA table_info("{quoted[name]}")')} for name in tables}

    def _files_of_folder(self, endings: tuple[str, ...]) -> Iterator[TextFile]:
        for path in sorted(self.path.rglob("*")):
            inside = path.relative_to(self.path)
            if path.is_file() and path.name.lower().endswith(endings) and not _is_hidden(inside.parts):
                text = path.read_bytes().decode("utf-8-sig", errors="replace")
                yield TextFile(inside.as_posix(), text, datetime.fromtimestamp(path.stat().st_mtime, UTC))

    def _files_of_archive(self, endings: tuple[str, ...]) -> Iterator[TextFile]:
        with zipfile.ZipFile(io.BytesIO(self.data)) as archive:
            for info in archive.infolist():
                if info.filename.lower().endswith(endings) and not _is_hidden(Path(info.filename).parts):
                    if info.file_size > LARGEST_MEMBER:
                        raise InvalidRequestError(f"{info.filename!r} in {self.name!r} is too large to be an export")
                    text = archive.read(info).decode("utf-8-sig", errors="replace")
                    yield TextFile(info.filename, text, datetime(*info.date_time, tzinfo=UTC))


@contextmanager
def opened_source(name: str) -> Iterator[Source]:
    """Open what an import reads. The standard input is copied to a file, because it is read more than once."""
    if name != STANDARD_INPUT:
        yield Source(name)
        return
    with NamedTemporaryFile(prefix="mcp-memory-import-") as copy:
        with interruptible():
            shutil.copyfileobj(sys.stdin.buffer, copy)
        copy.flush()
        yield Source(name, Path(copy.name))


def _is_hidden(parts: tuple[str, ...]) -> bool:
    return any(part.startswith(_HIDDEN) for part in parts)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
