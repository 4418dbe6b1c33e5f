"""The five tools. Their docstrings are read by a model: when to call, how to write, one example."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal

from mcp_memory_server.domain.context.page import DEFAULT_PAGE_TOKENS
from mcp_memory_server.domain.facts.fact import Outcome, Permanence, Source, Statement
from mcp_memory_server.domain.kernel.scope import OwnerKind, Scope
from mcp_memory_server.domain.kernel.text import one_line
from mcp_memory_server.domain.recall.memories import StoredMemory
from mcp_memory_server.errors import UnavailableError
from mcp_memory_server.memory import Memory
from mcp_memory_server.services.facts.facts import Learned
from mcp_memory_server.services.users.erasure import Forgotten
from mcp_memory_server.tools.arguments import FirstDay, LastDay
from mcp_memory_server.tools.memory_tool import Reply, memory_tool

MOST_PLACES, MOST_SIMILAR = 20, 5


@memory_tool("Recall", returns={"memories": {"type": "array"}}, read_only=True, always_load=True)
async def recall(
    memory: Memory,
    scope: Scope,
    query: str,
    max_tokens: int = 800,
    topic: Annotated[str | None, "only this path"] = None,
    as_of: Annotated[datetime | None, "date: what was true then"] = None,
    cursor: Annotated[str | None, "from a reply"] = None,
    explain: bool = False,  # noqa: FBT001, FBT002 - arguments of a tool have names
) -> Reply:
    """Search what is known about the user and what was said, in any words.

    Call before answering what may depend on their life, work, tastes or earlier decisions.
    """
    found = await memory.recall.search(
        scope, query, max_tokens=max_tokens, topic=topic, as_of=as_of, cursor=cursor, explain=explain
    )
    return found.to_reply()


@memory_tool("Remember", returns={"id": {"type": "string"}}, idempotent=False, always_load=True)
async def remember_fact(
    memory: Memory,
    scope: Scope,
    fact: str,
    topic: Annotated[str | None, "path, e.g. health/allergies"] = None,
    replaces: Annotated[list[str] | None, "ids it corrects, or 'topic': what topic holds now"] = None,
    since: Annotated[FirstDay | None, "date it became true"] = None,
    until: Annotated[LastDay | None, "last date it is true"] = None,
    remind_on: Annotated[LastDay | None, "date"] = None,
    permanence: Annotated[
        Literal[Permanence.PERMANENT, Permanence.DURABLE, Permanence.TRANSIENT] | None,
        "never changes; may change; for days",
    ] = None,
    source: Literal[Source.USER_STATED, Source.CONFIRMED, Source.INFERRED] = Source.USER_STATED,
    confidence: float | None = None,
) -> Reply:
    """Save a lasting fact, also about others, as soon as the user states or corrects it.

    One self-contained sentence with names and absolute dates, e.g. "Ana Silva moved to Lisbon on 2026-03-02."
    No passwords or keys.
    """
    statement = Statement(
        fact,
        topic=topic,
        source=source,
        confidence=confidence,
        permanence=permanence,
        since=since,
        until=until,
        remind_on=remind_on,
        session_id=scope.session_id,
    )
    learned = await memory.facts.learn(scope, statement, replaces=replaces)
    if learned.outcome in (Outcome.SUPPORTED, Outcome.ENDED):
        return _learned_reply(learned)
    try:
        return _learned_reply(learned, await memory.recall.similar(scope, learned.fact.id))
    except UnavailableError as error:  # the fact is saved, and the reply must say so
        return {**_learned_reply(learned), "status": "partial", "missing": [f"similar facts: {error}"]}


@memory_tool("Set preference")
async def set_preference(memory: Memory, scope: Scope, key: str, value: str) -> Reply:
    """Save how the user wants you to work, under a short key, e.g. tone: brief. What others like is a fact."""
    change = await memory.preferences.set(scope, key, value)
    reply = {"status": "complete", "key": change.preference.key, "value": change.preference.value}
    return reply if change.earlier is None else {**reply, "earlier": change.earlier.value}


@memory_tool("Load context", returns={"context": {"type": "string"}}, read_only=True, always_load=True)
async def load_context(
    memory: Memory,
    scope: Scope,
    max_tokens: int = DEFAULT_PAGE_TOKENS,
    cursor: Annotated[str | None, "from a reply"] = None,
) -> Reply:
    """Load who the user is, what to mind (diet, health), preferences, upcoming dates, main facts. Call first, once."""
    # Without the session, because the model has its turns in the context already.
    page = await memory.context.load(scope.in_session(None), max_tokens=max_tokens, cursor=cursor)
    return page.to_reply()


@memory_tool("Forget", destructive=True)
async def forget(
    memory: Memory,
    scope: Scope,
    id: Annotated[str, "from a reply"],  # noqa: A002 - its public name
    everywhere: bool = True,  # noqa: FBT001, FBT002 - arguments of a tool have names
    dry_run: bool = False,  # noqa: FBT001, FBT002
) -> Reply:
    """Delete a memory, its earlier versions and what else says it, when the user asks to, or if it was never true."""
    forgotten = await memory.erasure.forget(scope, id, everywhere=everywhere, dry_run=dry_run)
    return _forgotten_reply(forgotten, dry_run=dry_run)


MEMORY_TOOLS = (recall, remember_fact, set_preference, load_context, forget)
"""The five tools that every client and every agent gets."""


def _learned_reply(learned: Learned, similar: Sequence[StoredMemory] = ()) -> Reply:
    """Return what was saved and what it did to other facts, in words.

    ``similar`` are current facts that say nearly the same, or contradict it.
    """
    fact = learned.fact
    until = fact.last_day if learned.outcome is Outcome.ENDED else fact.until
    entries = {
        "status": "complete",
        "outcome": learned.outcome.value,
        "id": fact.id,
        "in": None if learned.owner is None or learned.owner.kind is OwnerKind.USER else learned.owner.kind.value,
        "since": None if fact.since is None else str(fact.since),
        "until": None if until is None else str(until),
        "remind_on": None if fact.remind_on is None else str(fact.remind_on),
        "earlier": [earlier.text for earlier in learned.superseded],
        "stands": None if learned.stands is None else learned.stands.text,
        "similar": [{"id": memory.id, "text": memory.text} for memory in similar],
    }
    return {name: value for name, value in entries.items() if value not in (None, [])}


def _forgotten_reply(forgotten: Forgotten, *, dry_run: bool) -> Reply:
    """Return what went, and from how many places; for a dry run also from which."""
    shown = forgotten.places[:MOST_PLACES] if dry_run else ()
    entries = {
        "status": forgotten.status.value,
        "would_forget" if dry_run else "forgotten": forgotten.text,
        "removed": forgotten.removed,
        "earlier_versions": forgotten.earlier_versions,
        "redacted": len(forgotten.places),
        "places": [f"{place.kind}: {one_line(place.text)}" for place in shown],
        "similar": [{"id": memory.id, "text": memory.text} for memory in forgotten.also_known[:MOST_SIMILAR]],
        "missing": list(forgotten.missing),
    }
    return {name: value for name, value in entries.items() if value not in (0, [])}
