"""Make a tool from a function: its signature is the schema, its docstring the description, its value the reply."""

import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from mcp_memory_server.domain.kernel.scope import Scope
from mcp_memory_server.errors import (
    ConflictError,
    ForgottenError,
    InvalidRequestError,
    MemoryServerError,
    NotFoundError,
    NotPermittedError,
    UnavailableError,
)
from mcp_memory_server.memory import Memory
from mcp_memory_server.tools.arguments import Argument, arguments_of, parse_arguments, schema_of

Reply: TypeAlias = dict[str, Any]
Function = Callable[..., Awaitable[Reply]]
"""Takes a memory, the scope, and the arguments by name."""

_STATUS = {"enum": ["complete", "partial", "unavailable"]}
_ERRORS = {
    InvalidRequestError: "invalid_request",
    NotFoundError: "not_found",
    ForgottenError: "forgotten",
    NotPermittedError: "not_permitted",
    ConflictError: "conflict",
    UnavailableError: "unavailable",
}


@dataclass(frozen=True)
class MemoryTool:
    """A tool: its description for a model, and its function. No argument can choose whose memory it uses.

    ``returns`` are the properties of its reply besides the status. ``always_load`` asks clients that load tools on
    demand to load this one at once.
    """

    name: str
    title: str
    description: str
    arguments: tuple[Argument, ...]
    function: Function = field(repr=False)
    returns: Mapping[str, Any]
    read_only: bool = False
    destructive: bool = False
    idempotent: bool = True
    always_load: bool = False

    @property
    def input_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the arguments."""
        return schema_of(self.arguments)

    @property
    def output_schema(self) -> dict[str, Any]:
        """Return the JSON schema of the reply.

        Nothing is required: some clients validate errors against it too, and would hide their messages.
        """
        return {"type": "object", "properties": {"status": _STATUS, **self.returns}}

    @property
    def hints(self) -> dict[str, bool]:
        """Return the hints for clients, under their MCP names, without those that have the default value."""
        closed = {"openWorldHint": False}  # it reaches nothing but this memory
        if self.read_only:
            return {"readOnlyHint": True, **closed}
        repeatable = {"idempotentHint": True} if self.idempotent else {}
        return {"destructiveHint": self.destructive, **repeatable, **closed}

    async def call(self, memory: Memory, scope: Scope, arguments: Mapping[str, Any]) -> Reply:
        """Parse the arguments and call the function.

        Raises:
            InvalidRequestError: The arguments are invalid.
            MemoryServerError: The memory refused, or could not be reached.
        """
        return await self.function(memory, scope, **parse_arguments(self.arguments, arguments))

    def with_description(self, description: str) -> "MemoryTool":
        """Return the same tool with another description, for a host that already shows its model part of the memory."""
        return replace(self, description=description)


def memory_tool(
    title: str,
    *,
    returns: Mapping[str, Any] | None = None,
    read_only: bool = False,
    destructive: bool = False,
    idempotent: bool = True,
    always_load: bool = False,
) -> Callable[[Function], MemoryTool]:
    """Return a decorator that makes a tool of a function of a memory, a scope, and the arguments of the tool."""

    def make(function: Function) -> MemoryTool:
        _memory, _scope, *parameters = inspect.signature(function).parameters.values()
        return MemoryTool(
            name=getattr(function, "__name__", ""),
            title=title,
            description=" ".join((inspect.getdoc(function) or "").split()),
            arguments=arguments_of(parameters),
            function=function,
            returns=returns or {},
            read_only=read_only,
            destructive=destructive,
            idempotent=idempotent,
            always_load=always_load,
        )

    return make


def error_reply(error: MemoryServerError) -> Reply:
    """Return the reply for an error: an invalid request, or a memory that could not be reached."""
    kind = next((name for type_, name in _ERRORS.items() if isinstance(error, type_)), "unavailable")
    reply = {"error": kind, "message": str(error)}
    return {"status": "unavailable", **reply} if kind == "unavailable" else reply
