"""The command that checks an installation and advises what to do."""

import argparse
import platform
import secrets
import sqlite3
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path

from mcp_memory_server.addresses import (
    Nowhere,
    RedisStore,
    SqliteTable,
    parse_sessions,
    parse_table,
    parse_vector_index,
)
from mcp_memory_server.cli.existing import HOW_IT_IS_MADE, is_default, may_be_made, missing_file
from mcp_memory_server.cli.printing import GREEN, RED, coloured, print_json
from mcp_memory_server.domain.facts.fact import Statement
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import MemoryServerError, UnavailableError
from mcp_memory_server.memory import Memory
from mcp_memory_server.settings import Settings
from mcp_memory_server.version import __version__
from mcp_memory_server.wiring import check_cluster, describe_table, open_memory, vector_index_misfit
from mcp_memory_server.wiring.repairing import inspection_of

OWNER_ONLY = "600"
MOST_INSPECTED, MOST_NAMED = 50_000, 5


@dataclass(frozen=True)
class Finding:
    """The result of one check, with advice where something is wrong."""

    check: str
    ok: bool
    found: str
    advice: str = ""


async def doctor(parsed: argparse.Namespace, settings: Settings) -> int:
    """Check settings, engine and permissions, and try a memory. 0 if all is well, 1 if something is not."""
    findings = [_versions(), _settings(settings)]
    if (missing := missing_file(settings)) is not None:
        return _report([*findings, _missing(missing)], parsed)
    try:
        async with open_memory(settings) as memory:
            findings.append(await _timed("probe", lambda: _probe(memory)))
            findings += await _cluster(settings)
            findings += [await _timed("sessions", lambda: _sessions(memory, settings)), await _undelivered(memory)]
            findings.append(await _summaries(memory, settings))
            if findings[2].ok:
                findings.append(await _items(memory))
        if findings[2].ok:  # without an answer to the probe, this would only wait again
            findings += _table(settings, dict(await describe_table(settings)))
            findings += await _vector_index(settings)
    except MemoryServerError as error:
        findings.append(Finding("table", ok=False, found=str(error), advice=_advice(error)))
    return _report(findings, parsed)


def _report(findings: Sequence[Finding], parsed: argparse.Namespace) -> int:
    well = all(finding.ok for finding in findings)
    if parsed.json:
        print_json({"ok": well, "checks": [vars(finding) for finding in findings]})
    else:
        for finding in _by_cause(findings):
            word = coloured("ok  ", GREEN) if finding.ok else coloured("FAIL", RED)
            print(f"{word}  {finding.check:<12} {finding.found}")
            if finding.advice:
                print(f"      {'':<12} -> {finding.advice}")
        print("All is well." if well else "Something needs your attention.")
    return 0 if well else 1


def _by_cause(findings: Sequence[Finding]) -> list[Finding]:
    """Return one finding for each cause: checks that failed for the same reason are named together."""
    merged: dict[tuple[bool, str], Finding] = {}
    for finding in findings:
        same = merged.get((finding.ok, finding.found))
        key = (finding.ok, finding.found)
        merged[key] = finding if same is None else replace(same, check=f"{same.check}, {finding.check}")
    return list(merged.values())


def _versions() -> Finding:
    parts = [
        f"mcp-memory-server {__version__}",
        f"Python {platform.python_version()}",
        f"mcp {version('mcp')}",
        f"SQLite {sqlite3.sqlite_version}",
    ]
    return Finding("versions", ok=True, found=", ".join(parts))


def _missing(path: Path) -> Finding:
    """Report a file that does not exist yet. That is wrong only if the settings name it."""
    found = f"there is no memory file at {str(path)!r} yet, so no memory was tried"
    if not may_be_made(path):
        advice = "its folder cannot be written to; set MCP_MEMORY_TABLE=sqlite:///path/to/file to one that can"
        return Finding("table", ok=False, found=found, advice=advice)
    if is_default(path):
        return Finding("table", ok=True, found=found, advice=HOW_IT_IS_MADE)
    return Finding("table", ok=False, found=found, advice=f"check MCP_MEMORY_TABLE or --table. {HOW_IT_IS_MADE}")


def _settings(settings: Settings) -> Finding:
    # Without the options of the address: an endpoint may carry a password.
    return Finding("settings", ok=True, found=f"table {settings.table.partition('?')[0]}, user {settings.user!r}")


async def _probe(memory: Memory) -> str:
    """Write, recall and forget a memory of a made-up user."""
    word = f"probe{secrets.token_hex(6)}"
    scope = Scope(f"doctor-{word}")
    try:
        learned = await memory.facts.learn(scope, Statement(f"The word of the day is {word}."))
        found = await memory.recall.search(scope, word)
        if [memory.id for memory in found.memories] != [learned.fact.id]:
            raise UnavailableError("a memory was saved but not found again")
        await memory.erasure.forget(scope, learned.fact.id)
        if (await memory.recall.search(scope, word)).memories:
            raise UnavailableError("a memory was forgotten but is still found")
    finally:
        await memory.erasure.forget_user(scope, has_writers=False)
    return "wrote, recalled and forgot a memory"


async def _sessions(memory: Memory, settings: Settings) -> str:
    """Ask the session cache whether it answers."""
    match parse_sessions(settings.sessions):
        case Nowhere():
            return "none: sessions are read from the table"
        case RedisStore():
            if (cache := memory.sessions().cache) is not None:
                await cache.ping()
            return "cached in Redis, which answered"  # without its address, which may hold a password


async def _cluster(settings: Settings) -> list[Finding]:
    """Check the DAX cluster, if there is one. Everything else works without it."""
    try:
        cluster = await check_cluster(settings)
    except UnavailableError as error:
        advice = "memory works without it, only slower; check its address, its security group and its certificate"
        return [Finding("cluster", ok=False, found=str(error), advice=advice)]
    return [] if cluster is None else [Finding("cluster", ok=True, found=f"{cluster} answered")]


async def _undelivered(memory: Memory) -> Finding:
    try:
        waiting, dead = await memory.redrive.waiting(), await memory.redrive.count()
    except MemoryServerError as error:
        return Finding("outbox", ok=False, found=str(error), advice=_advice(error))
    found = f"{waiting.turns:,} turns wait for the table, {dead:,} dead letters"
    return Finding("outbox", ok=not dead, found=found, advice="run `mcp-memory-server redrive`" if dead else "")


async def _items(memory: Memory) -> Finding:
    """Read items, all of them where there are not too many, and name those that cannot be read."""
    try:
        found = await inspection_of(memory).inspect(most=MOST_INSPECTED)
    except MemoryServerError as error:
        advice = "doctor reads the whole table once, for which DynamoDB needs the permission dynamodb:Scan"
        return Finding("items", ok=False, found=str(error), advice=advice)
    read = f"{found.items:,} items read" if found.is_whole else f"the first {found.items:,} items read"
    kept = f", {found.quarantined:,} in quarantine" if found.quarantined else ""
    if not found.damaged:
        return Finding("items", ok=True, found=f"{read}, none of them damaged{kept}")
    names = "; ".join(map(str, found.damaged[:MOST_NAMED]))
    more = f" and {len(found.damaged) - MOST_NAMED:,} more" if len(found.damaged) > MOST_NAMED else ""
    advice = "run `mcp-memory-server repair`, which shows what can be saved and changes nothing without --apply"
    said = f"{read}, {len(found.damaged):,} cannot be read{kept}: {names}{more}"
    return Finding("items", ok=False, found=said, advice=advice)


async def _summaries(memory: Memory, settings: Settings) -> Finding:
    by = settings.summarizer.partition("?")[0]
    if memory.spending is None:
        return Finding("summaries", ok=True, found=f"by {by}: nothing leaves this machine for them")
    try:
        today = await memory.spending.today()
    except MemoryServerError as error:
        return Finding("summaries", ok=False, found=str(error), advice=_advice(error))
    found = f"by {by}: ${today.spent.dollars:.4f} and {today.spent.tokens:,} tokens today, {today.requests:,} requests"
    if not today.is_used_up:
        return Finding("summaries", ok=True, found=f"{found}, {today.limit.share(today.spent):.0%} of the ceiling")
    advice = "the built-in summarizer serves until midnight UTC; MCP_MEMORY_SPENDING sets the ceiling"
    return Finding("summaries", ok=False, found=f"{found}: the ceiling is reached", advice=advice)


async def _timed(check: str, work: Callable[[], Awaitable[str]]) -> Finding:
    started = time.monotonic()
    try:
        found = await work()
    except MemoryServerError as error:
        return Finding(check, ok=False, found=str(error), advice=_advice(error))
    return Finding(check, ok=True, found=f"{found} in {(time.monotonic() - started) * 1000:.0f} ms")


def _table(settings: Settings, description: dict[str, object]) -> list[Finding]:
    found = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in description.items())
    findings = [Finding("table", ok=True, found=found)]
    if isinstance(parse_table(settings.table), SqliteTable):
        private = description["mode"] == OWNER_ONLY
        advice = "" if private else f"others can read it: chmod {OWNER_ONLY} {description['path']!r}"
        return [*findings, Finding("permissions", ok=private, found=f"mode {description['mode']}", advice=advice)]
    for name, what in (("ttl_attribute", "expiry"), ("point_in_time_recovery", "backups")):
        if not description[name]:
            advice = "run `mcp-memory-server tables create`, which completes a table that is there"
            findings.append(Finding(what, ok=False, found=f"no {name.replace('_', ' ')} on this table", advice=advice))
    return findings


async def _vector_index(settings: Settings) -> list[Finding]:
    if isinstance(parse_vector_index(settings.vector_index), Nowhere):
        return []
    misfit = await vector_index_misfit(settings)
    if misfit is None:
        found = f"vector index {settings.vector_index!r}: ready, and it fits the model"
        return [Finding("vectors", ok=True, found=found)]
    advice = (
        "run `mcp-memory-server tables create`, which adds an index and waits for it; one that does not fit cannot be "
        "changed, so name another one in MCP_MEMORY_VECTOR_INDEX"
    )
    return [Finding("vectors", ok=False, found=f"vector index {settings.vector_index!r}: {misfit}", advice=advice)]


def _advice(error: MemoryServerError) -> str:
    # The other errors say by themselves what would be right.
    unavailable = "check that the engine runs, that there is room on the disk, and that the network reaches it"
    return unavailable if isinstance(error, UnavailableError) else ""
