"""The five memory tools, free of any framework: what a model reads about them, and the one call each of them makes."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, TypeAlias, TypeVar

from mcp_memory_server import (
    ConflictError,
    ForgottenError,
    InvalidRequestError,
    Memory,
    MemoryServerError,
    NotFoundError,
    Permanence,
    Scope,
    Source,
    Statement,
)

Reply: TypeAlias = dict[str, Any]
Kind = TypeVar("Kind", bound=StrEnum)

_ERRORS = {
    InvalidRequestError: "invalid_request",
    NotFoundError: "not_found",
    ForgottenError: "forgotten",
    ConflictError: "conflict",
}


_TYPES = {"string": str, "integer": int}


@dataclass(frozen=True)
class MemoryTool:
    """A tool: what a model is told about it, and what it does. Whose memory it is about, no argument can say."""

    name: str
    description: str
    properties: Mapping[str, Any]
    required: tuple[str, ...]
    call: Callable[..., Awaitable[Reply]]

    @property
    def schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        return {
            "type": "object",
            "properties": dict(self.properties),
            "required": list(self.required),
            "additionalProperties": False,
        }

    async def call_with(self, memory: Memory, scope: Scope, arguments: Mapping[str, Any]) -> Reply:
        """Make the call.

        Raises:
            InvalidRequestError: There are no such arguments.
            MemoryServerError: The memory refused, or could not be reached.
        """
        self._check(arguments)
        return await self.call(memory, scope, **arguments)

    def _check(self, arguments: Mapping[str, Any]) -> None:
        """Refuse arguments that there are not: a model that invents a user must learn that nobody listens to it."""
        wrong = [f"there is no argument {name[:80]!r}" for name in arguments if name not in self.properties]
        wrong += [f"{name} is missing" for name in self.required if arguments.get(name) is None]
        for name, value in arguments.items():
            kind = _TYPES.get(self.properties.get(name, {}).get("type"))
            if kind is not None and value is not None and not isinstance(value, kind):
                wrong.append(f"{name} must be {'a number' if kind is int else 'text'}")
        if wrong:
            raise InvalidRequestError(f"{'; '.join(wrong)}. The arguments are: {', '.join(self.properties)}")


def refusal(error: MemoryServerError) -> Reply:
    """Return what a model is told about an error: a request that was wrong, or a memory that could not be reached."""
    kind = next((name for type_, name in _ERRORS.items() if isinstance(error, type_)), "unavailable")
    told = {"error": kind, "message": str(error)}
    return {"status": "unavailable", **told} if kind == "unavailable" else told


async def _recall(
    memory: Memory,
    scope: Scope,
    query: str,
    max_tokens: int = 800,
    topic: str | None = None,
    as_of: str | None = None,
) -> Reply:
    moment = None if as_of is None else _moment(as_of)
    return (await memory.recall.search(scope, query, max_tokens=max_tokens, topic=topic, as_of=moment)).to_reply()


async def _remember_fact(
    memory: Memory,
    scope: Scope,
    fact: str,
    topic: str | None = None,
    replaces: str | None = None,
    permanence: str | None = None,
    source: str = "user_stated",
) -> Reply:
    statement = Statement(
        fact,
        topic=topic,
        source=_one_of(Source, "source", source),
        permanence=None if permanence is None else _one_of(Permanence, "permanence", permanence),
        session_id=scope.session_id,
    )
    learned = await memory.facts.learn(scope, statement, replaces=replaces)
    reply = {"status": "complete", "outcome": learned.outcome.value, "id": learned.fact.id}
    if learned.earlier is not None:
        reply["earlier"] = learned.earlier.text
    if learned.stands is not None:
        reply["stands"] = learned.stands.text
    return reply


async def _set_preference(memory: Memory, scope: Scope, key: str, value: str) -> Reply:
    change = await memory.preferences.set(scope, key, value)
    reply = {"status": "complete", "key": key, "value": change.preference.value}
    return reply if change.earlier is None else {**reply, "earlier": change.earlier.value}


async def _load_context(memory: Memory, scope: Scope, max_tokens: int = 600) -> Reply:
    return (await memory.context.load(Scope(scope.user_id), max_tokens=max_tokens)).to_reply()


async def _forget(memory: Memory, scope: Scope, id: str) -> Reply:  # noqa: A002 - its public name
    return {"status": "complete", "removed": (await memory.erasure.forget(scope, id)).removed}


_TEXT = {"type": "string"}
_TOKENS = {"type": "integer"}

RECALL = MemoryTool(
    "recall",
    "Search what is known about the user. Call before answering whatever may depend on them: people, plans, tastes, "
    'earlier decisions, "as I told you".',
    {
        "query": _TEXT,
        "max_tokens": _TOKENS,
        "topic": {**_TEXT, "description": "only this path, e.g. personal/location"},
        "as_of": {**_TEXT, "description": "ISO date: what was true then"},
    },
    ("query",),
    _recall,
)
REMEMBER_FACT = MemoryTool(
    "remember_fact",
    "Save a lasting fact as soon as the user states or corrects it. One self-contained sentence with names and "
    'absolute dates, e.g. "Ana Silva moved to Lisbon on 2026-03-02." No secrets.',
    {
        "fact": _TEXT,
        "topic": {**_TEXT, "description": "path, e.g. work/employer; holds one current fact"},
        "replaces": {**_TEXT, "description": "id of the memory that is no longer true"},
        "permanence": {"enum": [permanence.value for permanence in Permanence]},
        "source": {"enum": [source.value for source in Source]},
    },
    ("fact",),
    _remember_fact,
)
SET_PREFERENCE = MemoryTool(
    "set_preference",
    "Save how the user wants things done, under a short key, e.g. tone: brief. Replaces the earlier value.",
    {"key": _TEXT, "value": _TEXT},
    ("key", "value"),
    _set_preference,
)
LOAD_CONTEXT = MemoryTool(
    "load_context",
    "Load more of the user's preferences and main facts than is shown already.",
    {"max_tokens": _TOKENS},
    (),
    _load_context,
)
FORGET = MemoryTool(
    "forget",
    "Delete a memory for good when the user asks for it.",
    {"id": {**_TEXT, "description": "from recall"}},
    ("id",),
    _forget,
)

MEMORY_TOOLS = (RECALL, REMEMBER_FACT, SET_PREFERENCE, LOAD_CONTEXT, FORGET)


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequestError(f"as_of must be an ISO date such as 2026-03-02, got {text[:40]!r}") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _one_of(kind: type[Kind], name: str, value: str) -> Kind:
    try:
        return kind(value)
    except ValueError:
        known = ", ".join(member.value for member in kind)
        raise InvalidRequestError(f"{name} must be one of {known}, got {value[:40]!r}") from None
