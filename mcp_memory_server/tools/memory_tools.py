"""The five tools. Their docstrings are read by a model: when to call, how to write, one example."""

from datetime import datetime
from typing import Annotated

from mcp_memory_server.domain.facts import Permanence, Source, Statement
from mcp_memory_server.domain.scope import Scope
from mcp_memory_server.memory import Memory
from mcp_memory_server.tools.memory_tool import Reply, memory_tool


@memory_tool(returns={"memories": {"type": "array"}}, read_only=True, always_load=True)
async def recall(
    memory: Memory,
    scope: Scope,
    query: str,
    max_tokens: int = 800,
    topic: Annotated[str | None, "only this path, e.g. personal/location"] = None,
    as_of: Annotated[datetime | None, "ISO date: what was true then"] = None,
    cursor: Annotated[str | None, "from a reply: go on"] = None,
    explain: bool = False,  # noqa: FBT001, FBT002 - arguments of a tool have names
) -> Reply:
    """Search what is known about the user and what was said.

    Call before answering whatever may depend on them: people, plans, tastes, earlier decisions, "as I told you".
    """
    found = await memory.recall.search(
        scope, query, max_tokens=max_tokens, topic=topic, as_of=as_of, cursor=cursor, explain=explain
    )
    return found.to_reply()


@memory_tool(returns={"id": {"type": "string"}}, idempotent=False, always_load=True)
async def remember_fact(
    memory: Memory,
    scope: Scope,
    fact: str,
    topic: Annotated[str | None, "path, e.g. work/employer; holds one current fact"] = None,
    replaces: Annotated[str | None, "id of the memory that is no longer true"] = None,
    permanence: Permanence | None = None,
    source: Source = Source.USER_STATED,
    confidence: Annotated[float | None, "0 to 1"] = None,
) -> Reply:
    """Save a lasting fact as soon as the user states or corrects it.

    One self-contained sentence with names and absolute dates, e.g. "Ana Silva moved to Lisbon on 2026-03-02."
    No secrets.
    """
    statement = Statement(
        fact,
        topic=topic,
        source=source,
        confidence=confidence,
        permanence=permanence,
        session_id=scope.session_id,
    )
    learned = await memory.facts.learn(scope, statement, replaces=replaces)
    reply = {"status": "complete", "outcome": learned.outcome.value, "id": learned.fact.id}
    if learned.earlier is not None:
        reply["earlier"] = learned.earlier.text
    if learned.stands is not None:
        reply["stands"] = learned.stands.text
    return reply


@memory_tool()
async def set_preference(memory: Memory, scope: Scope, key: str, value: str) -> Reply:
    """Save how the user wants things done, under a short key, e.g. tone: brief. Replaces the earlier value."""
    change = await memory.preferences.set(scope, key, value)
    reply = {"status": "complete", "key": key, "value": change.preference.value}
    return reply if change.earlier is None else {**reply, "earlier": change.earlier.value}


@memory_tool(returns={"context": {"type": "string"}}, read_only=True)
async def load_context(memory: Memory, scope: Scope, max_tokens: int = 600) -> Reply:
    """Load what was last discussed, preferences and main facts. Call once, at the start of a conversation."""
    # Without the session: what is said in it, the model has before it already.
    return (await memory.context.load(Scope(scope.user_id), max_tokens=max_tokens)).to_reply()


@memory_tool(destructive=True)
async def forget(
    memory: Memory,
    scope: Scope,
    id: Annotated[str, "from recall"],  # noqa: A002 - its public name
) -> Reply:
    """Delete a memory for good when the user asks for it."""
    forgotten = await memory.erasure.forget(scope, id)
    return {"status": "complete", "removed": forgotten.removed}


MEMORY_TOOLS = (recall, remember_fact, set_preference, load_context, forget)
