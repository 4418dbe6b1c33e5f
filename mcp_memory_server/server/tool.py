"""A tool made from a function: its signature is the schema, its docstring the description, its value the reply."""

import asyncio
import inspect
import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import ErrorDetails

from mcp_memory_server.domain.answers import reply_text
from mcp_memory_server.errors import (
    ConflictError,
    ForgottenError,
    InvalidRequestError,
    MemoryServerError,
    NotFoundError,
    UnavailableError,
)
from mcp_memory_server.server.spans import describe_reply, memory_span

DEADLINE_SECONDS = 25.0
"""One deadline around everything a call does; longer than the table's own, which usually answers first."""

Reply = dict[str, Any]
Function = Callable[..., Awaitable[Reply]]

_STATUS = {"enum": ["complete", "partial", "unavailable"]}
_ERRORS = {
    InvalidRequestError: "invalid_request",
    NotFoundError: "not_found",
    ForgottenError: "forgotten",
    ConflictError: "conflict",
    UnavailableError: "unavailable",
}

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class MemoryTool:
    """One tool: what a client is told about it, and what happens when it is called."""

    definition: Tool
    arguments: type[BaseModel]
    function: Function

    async def call(self, arguments: Mapping[str, Any]) -> CallToolResult:
        """Run the tool. Whatever goes wrong becomes an answer that a model can act on."""
        try:
            parsed = self.arguments.model_validate(arguments)
            values = {name: getattr(parsed, name) for name in type(parsed).model_fields}
            with memory_span(self.definition.name) as span:
                async with asyncio.timeout(DEADLINE_SECONDS):
                    reply = await self.function(**values)
                describe_reply(span, reply)
            return _result(reply)
        except ValidationError as error:
            return _failure("invalid_request", _what_is_wrong(error, self.arguments))
        except MemoryServerError as error:
            kind = next((name for type_, name in _ERRORS.items() if isinstance(error, type_)), "unavailable")
            return _failure(kind, str(error))
        except TimeoutError:
            return _failure("unavailable", "the memory did not answer in time; a write may still happen. Try again")
        except Exception as error:  # noqa: BLE001 - the edge of the process: a bug must not end the server
            frames = "".join(traceback.format_tb(error.__traceback__))
            # Without the exception's text, which may quote a memory or a secret.
            logger.error("tool %s failed with %s\n%s", self.definition.name, type(error).__name__, frames)  # noqa: TRY400
            return _failure("unavailable", "an internal error; the server's log has its place")


def make_tool(
    function: Function,
    *,
    returns: Mapping[str, Any],
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = True,
    always_load: bool = False,
) -> MemoryTool:
    """Make the tool that a function describes. ``returns`` are the properties of its reply beside the status."""
    name = cast("str", getattr(function, "__name__"))  # noqa: B009 - a callable need not have one
    arguments = _arguments(name, function)
    definition = Tool(
        name=name,
        description=" ".join(inspect.getdoc(function).split()) if inspect.getdoc(function) else None,  # pyright: ignore[reportOptionalMemberAccess]
        input_schema=_compact(arguments.model_json_schema()),
        # Nothing is required: some clients check a refusal against this too, and would show that instead of our words.
        output_schema={"type": "object", "properties": {"status": _STATUS, **returns}},
        annotations=ToolAnnotations(
            read_only_hint=read_only or None,
            destructive_hint=None if read_only else destructive,
            idempotent_hint=None if read_only else idempotent,
        ),
        _meta={"anthropic/alwaysLoad": True} if always_load else None,
    )
    return MemoryTool(definition, arguments, function)


def _arguments(name: str, function: Function) -> type[BaseModel]:
    parameters = inspect.signature(function, eval_str=True).parameters.values()
    fields: dict[str, Any] = {
        parameter.name: (parameter.annotation, ... if parameter.default is parameter.empty else parameter.default)
        for parameter in parameters
    }
    # An unknown argument is refused: a model that invents a user_id must learn that nobody listens to it.
    return create_model(name, __config__=ConfigDict(extra="forbid"), **fields)


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema without what a model does not need to read: titles, and that an optional may be null."""
    properties = {name: _compact_property(entry) for name, entry in schema["properties"].items()}
    required = {"required": schema["required"]} if "required" in schema else {}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def _compact_property(entry: dict[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in entry.items() if name not in ("title", "anyOf")}
    if kept.get("default", 0) is None:
        del kept["default"]
    for choice in entry.get("anyOf", ()):
        if choice != {"type": "null"}:
            kept |= choice
    if "enum" in kept:
        del kept["type"]
    return kept


def _result(reply: Reply) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=reply_text(reply))], structured_content=reply)


def _failure(kind: str, message: str) -> CallToolResult:
    reply = {"status": "unavailable", "error": kind, "message": message}
    if kind != "unavailable":
        del reply["status"]
    return CallToolResult(content=[TextContent(text=reply_text(reply))], structured_content=reply, is_error=True)


def _what_is_wrong(error: ValidationError, arguments: type[BaseModel]) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    told = [_told(".".join(str(part) for part in problem["loc"]), problem) for problem in problems[:5]]
    return f"{'; '.join(told)}. The arguments are: {', '.join(arguments.model_fields)}"


def _told(name: str, problem: ErrorDetails) -> str:
    match problem["type"]:
        case "missing":
            return f"{name} is missing"
        case "extra_forbidden":
            return f"there is no argument {name[:80]!r}"
        case _:
            return f"{name}: {problem['msg'][:1].lower()}{problem['msg'][1:]}"
