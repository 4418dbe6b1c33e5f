"""Read the rows of a file that SQLite may refuse, straight from its pages, and build a new file of them.

A row is taken if it matches its checksum, or would with one bit changed (mending.py). Its place in the file is not
trusted: where a page's own directory cannot be followed, rows are looked for at every byte of the page. A row that is
found so may be an old one, so it never replaces a newer version, nor brings back what was forgotten. Pages
are laid out as https://sqlite.org/fileformat2.html says.
"""

import os
import re
import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias, cast

from mcp_memory_server.adapters.sqlite.damage.mending import row_from_raw
from mcp_memory_server.adapters.sqlite.files.file import APPLICATION_ID, INDEX, SCHEMA, primary_code
from mcp_memory_server.adapters.sqlite.files.making import header_of, make_file
from mcp_memory_server.adapters.sqlite.rows import COLUMNS, Row

INTERIOR, LEAF = 0x02, 0x0A
TABLE_PAGES = (0x05, 0x0D)
LEAST_PAGE, USUAL_PAGE, LARGEST_PAGE = 512, 4096, 65536
LONGEST_RECORD = 4 * 1024 * 1024
LONGEST_HEAD = 64
_COLUMNS = len(COLUMNS.split(", "))
_TEXTS, _VERSION, _EXPIRY, _CHECKSUM = (0, 1, 4, 5), 2, 3, 6
_INTEGER_BYTES = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
_FILE_HEADER = 100
_TEXT, _NUMBER = rb"(?:[\x80-\xff]{1,2}[\x00-\x7f]|[\x0d-\x7f])", rb"[\x01-\x06\x08\x09]"
_HEAD = re.compile(
    rb"(?=[\x08-\x14]" + _TEXT + _TEXT + _NUMBER + rb"[\x00-\x06\x08\x09]" + _TEXT + _TEXT + _NUMBER + rb")", re.DOTALL
)
"""What the head of a row looks like: its length, and the kinds and lengths of its columns."""

_Record: TypeAlias = tuple[Any, ...]


@dataclass
class Salvage:
    """What can be saved of a file: its rows by key, how many were mended, and the names of those that are lost."""

    rows: dict[tuple[str, str], Row] = field(default_factory=dict[tuple[str, str], Row])
    mended: int = 0
    lost: list[str] = field(default_factory=list[str])

    @property
    def is_damaged(self) -> bool:
        """Whether any row is not as it was written."""
        return bool(self.mended or self.lost)


def salvage(path: Path) -> Salvage:
    """Read what can be read of the file, with what its log adds."""
    pages = _Pages(path)
    found, broken = Salvage(), dict[int, set[int]]()
    for number in range(1, len(pages) + 1):
        records, places = _listed_records(pages, number)
        if places is not None:
            broken[number] = places
        for raw in records:
            if (row := row_from_raw(raw)) is None:
                found.lost.append(_name(raw))
            else:
                found.mended += not _is_as_read(raw, row)
                _keep(found.rows, row)
    for number, places in broken.items():
        if number not in pages.continued:
            for raw in _unlisted_records(pages, number, places):
                row = row_from_raw(raw)
                if row is not None and not _is_forgotten(found.rows, row):
                    found.mended += not _is_as_read(raw, row)
                    _keep(found.rows, row)
    found.lost = [name for name in found.lost if tuple(name.split(" ", 1)) not in found.rows]
    return found


def foreign_or_busy(path: Path) -> str | None:
    """Return why the file must not be replaced: it is another program's, or in use; None if it may."""
    header = header_of(path)
    if header is not None and (header.application_id ^ APPLICATION_ID).bit_count() > 1:
        return f"{str(path)!r} is a database of another program"
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=1)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        if primary_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return f"{str(path)!r} is being written to; stop the servers that use it first"
    return None


def rebuild(path: Path, rows: Sequence[Row]) -> Path:
    """Put a new file with these rows in the place of this one, and return where the old one is kept."""
    draft = path.with_name(f"{path.name}.repaired-{os.getpid()}")
    kept = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}")
    draft.unlink(missing_ok=True)
    make_file(draft, SCHEMA + INDEX)
    with closing(sqlite3.connect(draft, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN")
        connection.executemany(f"INSERT INTO items ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.link(path, kept)
    for suffix in ("-wal", "-shm"):  # they belong to the old file, and would be taken for those of the new one
        with suppress(FileNotFoundError):
            Path(f"{path}{suffix}").rename(f"{kept}{suffix}")
    draft.replace(path)
    for suffix in ("-wal", "-shm"):
        Path(f"{draft}{suffix}").unlink(missing_ok=True)
    return kept


class _Pages:
    """The pages of a file, the newest ones from its log."""

    def __init__(self, path: Path) -> None:
        self._data = path.read_bytes()
        size = struct.unpack(">H", self._data[16:18])[0] if len(self._data) > LEAST_PAGE else 0
        self.size = LARGEST_PAGE if size == 1 else size
        if self.size < LEAST_PAGE or self.size & (self.size - 1):
            self.size = USUAL_PAGE
        reserved = self._data[20] if len(self._data) > LEAST_PAGE else 0
        self.usable = self.size - (reserved if reserved <= 32 else 0)
        self.continued: set[int] = set()
        """Pages that hold the rest of a row that begins in another page."""
        self._logged = dict(_logged_pages(Path(f"{path}-wal"), self.size))

    def __len__(self) -> int:
        return max([len(self._data) // self.size, *self._logged])

    def __getitem__(self, number: int) -> bytes:
        if number in self._logged:
            return self._logged[number]
        return self._data[(number - 1) * self.size : number * self.size]


def _logged_pages(path: Path, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield the pages that the log holds, up to its last commit. Its checksums are not needed: rows have their own."""
    try:
        data = path.read_bytes()
    except OSError:
        return
    salts, frame, at = data[16:24], 24 + size, 32
    pending: list[tuple[int, bytes]] = []
    while at + frame <= len(data):
        number, committed = struct.unpack(">II", data[at : at + 8])
        if data[at + 8 : at + 16] == salts and number:
            pending.append((number, data[at + 24 : at + frame]))
            if committed:
                yield from pending
                pending = []
        at += frame


def _listed_records(pages: _Pages, number: int) -> tuple[list[_Record], set[int] | None]:
    """Return the rows that the page lists; and, if it cannot be followed throughout, the places of those."""
    page = pages[number]
    start = _FILE_HEADER if number == 1 else 0
    if len(page) < pages.size or page[start] in TABLE_PAGES or not any(page):
        return [], None
    places = _listed(page, start)
    is_intact, seen, rows = places is not None, set[int](), list[_Record]()
    for place in places or ():
        length, at = _varint(page, place)
        record = _record(pages, page, at, length)
        if record is None:
            is_intact = False
            continue
        seen.add(at)
        if len(record) == _COLUMNS:
            rows.append(record)
    return rows, None if is_intact else seen


def _unlisted_records(pages: _Pages, number: int, listed: set[int]) -> Iterator[_Record]:
    """Yield what looks like a row, at any byte of the page."""
    page = pages[number]
    for head in _HEAD.finditer(page):
        at = head.start()
        if at not in listed and (record := _record(pages, page, at, None)) is not None and len(record) == _COLUMNS:
            yield record


def _listed(page: bytes, start: int) -> list[int] | None:
    """Return where the page says that its records begin; None if that cannot be."""
    kind = page[start]
    if kind not in (INTERIOR, LEAF):
        return None
    first, skipped = (start + 12, 4) if kind == INTERIOR else (start + 8, 0)
    (count,) = struct.unpack(">H", page[start + 3 : start + 5])
    if first + 2 * count > len(page):
        return None
    places = struct.unpack(f">{count}H", page[first : first + 2 * count])
    if len(set(places)) < count or any(not first + 2 * count <= place < len(page) - skipped for place in places):
        return None
    return [place + skipped for place in places]


def _record(pages: _Pages, page: bytes, at: int, length: int | None) -> _Record | None:
    """Return the columns of the record whose head is here, texts as bytes; None if there is none of that length."""
    if at >= pages.usable:
        return None
    head_length, after_head = _varint(page, at)
    end = at + head_length
    if not 1 < head_length <= LONGEST_HEAD or end > pages.usable:
        return None
    kinds: list[int] = []
    while after_head < end:
        kind, after_head = _varint(page, after_head)
        kinds.append(kind)
    needed = head_length + sum(map(_bytes_of, kinds))
    if after_head != end or needed > LONGEST_RECORD or length not in (None, needed):
        return None
    if not _is_row(kinds):
        return None if len(kinds) == _COLUMNS else _other(kinds)
    content = _content(pages, page, at, needed)
    return None if content is None else _columns(content[head_length:], kinds)


def _other(kinds: Sequence[int]) -> _Record:
    """Return what stands for a record of another table."""
    return tuple(kinds[: _COLUMNS - 1])


def _is_row(kinds: Sequence[int]) -> bool:
    return (
        len(kinds) == _COLUMNS
        and all(kinds[column] >= 13 and kinds[column] % 2 for column in _TEXTS)
        and all(kinds[column] in (*_INTEGER_BYTES, 8, 9) for column in (_VERSION, _CHECKSUM))
        and kinds[_EXPIRY] in (0, *_INTEGER_BYTES, 8, 9)
    )


def _bytes_of(kind: int) -> int:
    return (kind - 12) // 2 if kind >= 12 else _INTEGER_BYTES.get(kind, 0)


def _content(pages: _Pages, page: bytes, at: int, length: int) -> bytes | None:
    usable = pages.usable
    most, least = (usable - 12) * 64 // 255 - 23, (usable - 12) * 32 // 255 - 23
    if length <= most:
        return page[at : at + length] if at + length <= usable else None
    here = least + (length - least) % (usable - 4)
    here = here if here <= most else least
    if at + here + 4 > usable:
        return None
    parts, left = [page[at : at + here]], length - here
    (following,) = struct.unpack(">I", page[at + here : at + here + 4])
    while left > 0:
        overflow = pages[following] if 0 < following <= len(pages) else b""
        if len(overflow) < usable:
            return None
        pages.continued.add(following)
        parts.append(overflow[4 : 4 + min(left, usable - 4)])
        left -= usable - 4
        (following,) = struct.unpack(">I", overflow[:4])
    return b"".join(parts)


def _columns(content: bytes, kinds: Sequence[int]) -> _Record:
    columns: list[Any] = []
    at = 0
    for kind in kinds:
        part = content[at : at + _bytes_of(kind)]
        at += len(part)
        if kind >= 13:
            columns.append(part)
        elif kind in (8, 9):
            columns.append(kind - 8)
        else:
            columns.append(int.from_bytes(part, "big", signed=True) if kind else None)
    return tuple(columns)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for step in range(9):
        if at + step >= len(data):
            return 0, at + step
        byte = data[at + step]
        if step == 8:
            return value << 8 | byte, at + 9
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at + step + 1
    raise AssertionError("unreachable")


def _keep(rows: dict[tuple[str, str], Row], row: Row) -> None:
    before = rows.get(row[:2])
    if before is None or before[_VERSION] < row[_VERSION]:
        rows[row[:2]] = row


def _is_as_read(raw: _Record, row: Row) -> bool:
    return raw == tuple(part.encode() if isinstance(part, str) else part for part in row)


def _is_forgotten(rows: dict[tuple[str, str], Row], row: Row) -> bool:
    """Return whether a tombstone of the same partition names what the row holds: both keys end in the fingerprint."""
    pk, sk = row[:2]
    return any((pk, f"GONE#{part}") in rows for part in sk.replace("~", "#").split("#") if part)


def _name(raw: _Record) -> str:
    return " ".join(cast("bytes", part).decode(errors="replace") for part in raw[:2])
