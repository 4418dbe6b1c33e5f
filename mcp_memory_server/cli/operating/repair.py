"""The command that saves what can be saved of a damaged memory, and moves what cannot be read out of the way."""

import argparse
import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from mcp_memory_server.addresses import SqliteTable, parse_table
from mcp_memory_server.cli import FAILED
from mcp_memory_server.cli.existing import open_existing
from mcp_memory_server.cli.printing import ProgressLine, print_json, say
from mcp_memory_server.errors import ConfigurationError
from mcp_memory_server.settings import Settings
from mcp_memory_server.wiring.repairing import Damage, SalvagedFile, inspection_of, salvaged_file

MOST_NAMED = 50


@dataclass(frozen=True)
class _Items:
    """The items of the table that cannot be read, or could not before they were moved."""

    read: int
    damaged: Sequence[Damage]
    quarantined: int


async def repair(parsed: argparse.Namespace, settings: Settings) -> int:
    """Show what is damaged; with ``--apply``, repair it. 0 if nothing is damaged any more, 1 otherwise."""
    file: SalvagedFile | None = None
    match parse_table(settings.table):
        case SqliteTable(path):
            if not path.exists():
                raise ConfigurationError(f"there is no memory file at {str(path)!r}; check MCP_MEMORY_TABLE or --table")
            file = await asyncio.to_thread(salvaged_file, path, apply=parsed.apply)
        case _:
            pass
    can_be_opened = file is None or not file.is_damaged or file.kept is not None
    items = await _items(settings, apply=parsed.apply) if can_be_opened else None
    is_well = can_be_opened and (parsed.apply or items is None or not items.damaged)
    if parsed.json:
        print_json({"ok": is_well, "applied": parsed.apply, "file": _file_values(file), "items": _item_values(items)})
    else:
        _print(file, items, applied=parsed.apply)
        if not is_well:
            say("Nothing was changed. Stop the servers that use this memory, and repeat with --apply to repair it.")
    return 0 if is_well else FAILED


async def _items(settings: Settings, *, apply: bool) -> _Items:
    progress = ProgressLine("read")
    async with open_existing(settings) as memory:
        inspection = inspection_of(memory)
        found = await inspection.inspect(progress=progress.show)
        progress.finish()
        moved = [damage for damage in found.damaged if apply and await inspection.quarantine(damage)]
    return _Items(found.items, found.damaged, found.quarantined + len(moved))


def _file_values(file: SalvagedFile | None) -> dict[str, object] | None:
    if file is None:
        return None
    values: dict[str, object] = {"damaged": file.is_damaged, "problem": file.problem, "rows": file.rows}
    return {**values, "mended": file.mended, "lost": file.lost, "kept": file.kept and str(file.kept)}


def _item_values(items: _Items | None) -> dict[str, object] | None:
    if items is None:
        return None
    damaged = [{"item": str(one), "reason": one.reason} for one in items.damaged]
    return {"read": items.read, "damaged": damaged, "quarantined": items.quarantined}


def _print(file: SalvagedFile | None, items: _Items | None, *, applied: bool) -> None:
    if file is not None and file.is_damaged:
        print(f"the file is damaged: {file.problem or 'rows do not match their checksums'}")
        print(f"  {file.rows:,} rows can be saved, {file.mended:,} of them by turning back one bit")
        print(f"  {len(file.lost):,} rows are lost")
        for name in file.lost[:MOST_NAMED]:
            print(f"    {name}")
        if file.kept is not None:
            print(f"the file was made anew; the damaged one is kept as {file.kept}")
    if items is not None:
        what = "moved to the quarantine, for 90 days" if applied else "that cannot be read"
        print(f"{items.read:,} items read, {len(items.damaged):,} {what}")
        for one in items.damaged[:MOST_NAMED]:
            print(f"  {one}: {one.reason}")
        if items.quarantined:
            print(f"{items.quarantined:,} items are in quarantine")
