"""The five tools. Their docstrings are read by a model: when to call, how to write, one example."""

from typing import Annotated, Literal

from pydantic import Field

from mcp_memory_server.domain.facts import Permanence, Source, Statement
from mcp_memory_server.memory import Memory
from mcp_memory_server.server.dates import moment_from
from mcp_memory_server.server.identity import Identify
from mcp_memory_server.server.tool import MemoryTool, Reply, make_tool


def memory_tools(memory: Memory, identify: Identify) -> list[MemoryTool]:
    """Return the tools over one memory. Whose memory it is, ``identify`` knows; no argument can say it."""

    async def recall(
        query: str,
        max_tokens: int = 800,
        topic: Annotated[str | None, Field(description="only this path, e.g. personal/location")] = None,
        as_of: Annotated[str | None, Field(description="ISO date: what was true then")] = None,
        cursor: Annotated[str | None, Field(description="from a reply: go on")] = None,
        explain: bool = False,  # noqa: FBT001, FBT002 - arguments of a tool have names
    ) -> Reply:
        """Search what is known about the user and what was said.

        Call before answering whatever may depend on them: people, plans, tastes, earlier decisions, "as I told you".
        """
        moment = None if as_of is None else moment_from(as_of)
        found = await memory.recall.search(
            identify(), query, max_tokens=max_tokens, topic=topic, as_of=moment, cursor=cursor, explain=explain
        )
        return found.to_reply()

    async def remember_fact(
        fact: str,
        topic: Annotated[str | None, Field(description="path, e.g. work/employer; holds one current fact")] = None,
        replaces: Annotated[str | None, Field(description="id of the memory that is no longer true")] = None,
        permanence: Literal["permanent", "durable", "transient", "inferred"] | None = None,
        source: Literal["user_stated", "confirmed", "inferred"] = "user_stated",
        confidence: Annotated[float | None, Field(description="0 to 1")] = None,
    ) -> Reply:
        """Save a lasting fact as soon as the user states or corrects it.

        One self-contained sentence with names and absolute dates, e.g. "Ana Silva moved to Lisbon on 2026-03-02."
        No secrets.
        """
        scope = identify()
        statement = Statement(
            fact,
            topic=topic,
            source=Source(source),
            confidence=confidence,
            permanence=None if permanence is None else Permanence(permanence),
            session_id=scope.session_id,
        )
        learned = await memory.facts.learn(scope, statement, replaces=replaces)
        reply = {"status": "complete", "outcome": learned.outcome.value, "id": learned.fact.id}
        if learned.earlier is not None:
            reply["earlier"] = learned.earlier.text
        if learned.stands is not None:
            reply["stands"] = learned.stands.text
        return reply

    async def set_preference(key: str, value: str) -> Reply:
        """Save how the user wants things done, under a short key, e.g. tone: brief. Replaces the earlier value."""
        change = await memory.preferences.set(identify(), key, value)
        reply = {"status": "complete", "key": key, "value": change.preference.value}
        return reply if change.earlier is None else {**reply, "earlier": change.earlier.value}

    async def load_context(max_tokens: int = 600) -> Reply:
        """Load what was last discussed, preferences and main facts. Call once, at the start of a conversation."""
        return (await memory.context.load(identify(), max_tokens=max_tokens)).to_reply()

    async def forget(id: Annotated[str, Field(description="from recall")]) -> Reply:  # noqa: A002 - its public name
        """Delete a memory for good when the user asks for it."""
        forgotten = await memory.erasure.forget(identify(), id)
        return {"status": "complete", "removed": forgotten.removed}

    return [
        make_tool(recall, returns={"memories": {"type": "array"}}, read_only=True, always_load=True),
        make_tool(remember_fact, returns={"id": {"type": "string"}}, idempotent=False, always_load=True),
        make_tool(set_preference, returns={}),
        make_tool(load_context, returns={"context": {"type": "string"}}, read_only=True),
        make_tool(forget, returns={}, destructive=True),
    ]
