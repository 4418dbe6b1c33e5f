"""Commands that list and change single memories."""

import argparse
from typing import Any

from mcp_memory_server.cli.existing import open_existing
from mcp_memory_server.cli.owners import scope_of
from mcp_memory_server.cli.printing import print_json, print_table, say
from mcp_memory_server.domain.facts.dates import first_day, last_day
from mcp_memory_server.domain.facts.fact import Fact, Permanence, Source, Standing, Statement, confidence_at
from mcp_memory_server.domain.kernel.clock import utc_now
from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.domain.kernel.text import one_line
from mcp_memory_server.domain.recall.memories import Kind
from mcp_memory_server.domain.recall.replies.answers import Recollection
from mcp_memory_server.errors import InvalidRequestError, NotFoundError
from mcp_memory_server.memory import Memory
from mcp_memory_server.services.users.erasure import Forgotten
from mcp_memory_server.settings import Settings
from mcp_memory_server.tools.dates import moment_from
from mcp_memory_server.wiring import open_memory


async def facts(parsed: argparse.Namespace, settings: Settings) -> int:
    """List facts."""
    topic = None if parsed.topic is None else parsed.topic.removesuffix("/")
    async with open_existing(settings) as memory:
        if parsed.history:
            found = await _history(memory, scope_of(parsed, settings), topic)
        else:
            found = await memory.facts.all(scope_of(parsed, settings), topic)
        missing = await memory.facts.missing(scope_of(parsed, settings))
    for sentence in missing:
        say(f"incomplete: {sentence}; `mcp-memory-server doctor` names them")
    if parsed.json:
        print_json([_fact_values(fact) for fact in found])
    else:
        below = f" below {parsed.topic!r}" if parsed.topic else ""
        columns = ["id", "topic", "since", "until", "learned", "sure", "source", "fact"]
        rows = [_fact_row(fact) for fact in found]
        print_table(columns, rows, f"Nothing is known{below} yet.", optional=["source", "learned", "sure", "topic"])
    return 0


async def _history(memory: Memory, scope: Scope, named: str | None) -> list[Fact]:
    """Return everything that was ever known, or only of one topic, or of the fact with an id."""
    if named is None:
        return await memory.facts.all(scope, past=True)
    try:
        return await memory.facts.history_of(scope, named)
    except NotFoundError:
        return await memory.facts.history(scope, named)


async def preferences(parsed: argparse.Namespace, settings: Settings) -> int:
    """List preferences, or set one."""
    if parsed.key is not None and parsed.value is None:
        raise InvalidRequestError(f"what should {parsed.key!r} be? Usage: mcp-memory-server preferences KEY VALUE")
    opened = open_existing(settings) if parsed.key is None else open_memory(settings)
    async with opened as memory:
        if parsed.key is not None:
            change = await memory.preferences.set(settings.scope(), parsed.key, parsed.value)
            say("saved" + (f" (before: {change.earlier.value})" if change.earlier else ""))
        found = await memory.preferences.all(settings.scope())
    if parsed.json:
        print_json([{"key": entry.key, "value": entry.value, "set_by": entry.set_by.value} for entry in found])
    else:
        rows = [[entry.key, entry.set_by.value, f"{entry.set_at:%Y-%m-%d}", entry.value] for entry in found]
        print_table(["key", "set by", "since", "value"], rows, "No preferences yet.")
    return 0


async def recall(parsed: argparse.Namespace, settings: Settings) -> int:
    """Search what is known."""
    as_of = None if parsed.as_of is None else moment_from(parsed.as_of)
    async with open_existing(settings) as memory:
        found = await memory.recall.search(
            scope_of(parsed, settings),
            parsed.query,
            max_tokens=parsed.max_tokens,
            topic=parsed.topic,
            as_of=as_of,
            cursor=parsed.cursor,
            explain=parsed.explain,
        )
    if parsed.json:
        print_json(found.to_reply())
        return 0
    columns = ["id", "kind", "since", "until", "learned", "sure", *(["score"] if parsed.explain else []), "memory"]
    rows = [_recalled_row(one) for one in found.memories]
    optional = ["learned", "kind", "sure", "score", "until", "since"]
    print_table(columns, rows, "Nothing that is known answers this.", optional=optional)
    for missing in found.missing:
        say(f"incomplete: {missing}")
    if found.more:
        onwards = f", --cursor {found.cursor} goes on" if found.cursor else ""
        say(f"{found.more} more did not fit into {parsed.max_tokens} tokens; --max-tokens shows more{onwards}")
    return 0


def _recalled_row(found: Recollection) -> list[str]:
    parts = found.explained or {}
    score = [", ".join(f"{name} {value:.2f}" for name, value in parts.items())] if parts else []
    said = found.text if found.by is None else f"{found.by}: {found.text}"
    sure = "" if found.kind is Kind.TURN else f"{found.confidence:.2f}"
    kind = Kind.PAST if found.past else found.kind
    return [found.id, kind.value, found.since or "", found.until or "", found.learned or "", sure, *score, said]


async def remember(parsed: argparse.Namespace, settings: Settings) -> int:
    """Save a fact."""
    statement = Statement(
        parsed.fact,
        topic=parsed.topic,
        source=Source(parsed.source),
        confidence=parsed.confidence,
        permanence=None if parsed.permanence is None else Permanence(parsed.permanence),
        since=None if parsed.since is None else first_day("--since", parsed.since),
        until=None if parsed.until is None else last_day("--until", parsed.until),
        remind_on=None if parsed.remind_on is None else first_day("--remind-on", parsed.remind_on),
    )
    async with open_memory(settings) as memory:
        learned = await memory.facts.learn(scope_of(parsed, settings), statement, replaces=parsed.replaces)
    if parsed.json:
        superseded = [_fact_values(fact) for fact in learned.superseded]
        print_json({"outcome": learned.outcome.value, **_fact_values(learned.fact), "superseded": superseded})
        return 0
    print(f"{learned.outcome.value}: {learned.fact.text} (id {learned.fact.id})")
    for fact in learned.superseded:
        print(f"  before: {fact.text}")
    if learned.stands is not None:
        print(f"  kept beside what was said: {learned.stands.text}")
    return 0


async def end(parsed: argparse.Namespace, settings: Settings) -> int:
    """Note that a fact is true no longer."""
    until = None if parsed.until is None else last_day("--until", parsed.until)
    async with open_existing(settings) as memory:
        fact = await memory.facts.end(scope_of(parsed, settings), parsed.id, until)
    if parsed.json:
        print_json(_fact_values(fact))
    else:
        print(f"{'past' if fact.is_over(utc_now()) else 'ends'}: {fact.text} (until {fact.last_day})")
    return 0


async def forget(parsed: argparse.Namespace, settings: Settings) -> int:
    """Delete a memory for good, or show what would go."""
    async with open_existing(settings) as memory:
        forgotten = await memory.erasure.forget(
            scope_of(parsed, settings), parsed.id, everywhere=not parsed.fact_only, dry_run=parsed.dry_run
        )
    if parsed.json:
        print_json({"dry_run": parsed.dry_run, **_forgotten_values(forgotten)})
        return 0
    versions = forgotten.earlier_versions
    done, removed = ("would be forgotten", "would be removed") if parsed.dry_run else ("forgotten", "removed")
    print(f"{done}: {forgotten.text}" + (f" ({_counted(versions, 'earlier version')} too)" if versions else ""))
    print(f"  {_counted(forgotten.removed, 'stored item')} {removed}")
    if forgotten.places:
        print(f"  {_counted(len(forgotten.places), 'sentence')} elsewhere {removed}")
    for place in forgotten.places if parsed.dry_run else ():
        said = "" if place.said_at is None else f" of {place.said_at:%Y-%m-%d}"
        print(f"    {place.kind}{said}: {one_line(place.text)}")
    for other in forgotten.also_known:
        print(f"  says the same and stays: {other.text} (id {other.id})")
    for reason in forgotten.missing:
        say(f"not done yet: {reason}")
    return 0


def _forgotten_values(forgotten: Forgotten) -> dict[str, Any]:
    return {
        "status": forgotten.status.value,
        "id": forgotten.id,
        "text": forgotten.text,
        "removed": forgotten.removed,
        "earlier_versions": forgotten.earlier_versions,
        "places": [
            {
                "kind": place.kind,
                "text": place.text,
                "session_id": place.session_id,
                "said_at": None if place.said_at is None else place.said_at.isoformat(),
            }
            for place in forgotten.places
        ],
        "similar": [{"id": other.id, "text": other.text} for other in forgotten.also_known],
        "missing": list(forgotten.missing),
    }


def _counted(number: int, name: str) -> str:
    return f"{number} {name}{'' if number == 1 else 's'}"


def _fact_row(fact: Fact) -> list[str]:
    now = utc_now()
    until = (fact.last_day or "") if fact.is_over(now) else (fact.until or "")
    source = "unconfirmed" if fact.standing is Standing.CANDIDATE else fact.source.value
    sure = "past" if fact.is_over(now) else f"{confidence_at(fact, now):.2f}"
    learned = f"{fact.valid_from:%Y-%m-%d}"
    return [fact.id, fact.topic or "", str(fact.since or ""), str(until), learned, sure, source, fact.text]


def _fact_values(fact: Fact) -> dict[str, Any]:
    return {
        "id": fact.id,
        "text": fact.text,
        "topic": fact.topic,
        "standing": fact.standing.value,
        "source": fact.source.value,
        "confidence": round(confidence_at(fact, utc_now()), 4),
        "permanence": fact.permanence.value,
        "support": fact.support,
        "since": None if fact.since is None else str(fact.since),
        "until": None if fact.until is None else str(fact.until),
        "remind_on": None if fact.remind_on is None else str(fact.remind_on),
        "past": fact.is_over(utc_now()),
        "valid_from": fact.valid_from.isoformat(),
        "valid_to": None if fact.valid_to is None else fact.valid_to.isoformat(),
        "expires_at": None if fact.expires_at is None else fact.expires_at.isoformat(),
        "session_id": fact.session_id,
        "turn_id": fact.turn_id,
    }
