"""Calls of Strands tools, with circuit breakers, timeouts, guards against loops, and a log."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any, cast

from strands import Agent
from strands.middleware.stages import ExecuteToolContext, ExecuteToolStage
from strands.tools.structured_output.structured_output_tool import StructuredOutputTool
from strands.types.events import ToolResultEvent
from strands.types.tools import AgentTool, ToolResult, ToolUse

from agent_plugins.breakers.invocations import Invocation, Outcome
from agent_plugins.breakers.tool_registry import Refusal, ToolRegistry
from agent_plugins.guards.loop_guards import Finding, Guards
from agent_plugins.memory.shared_sessions import AgentSession
from agent_plugins.strands.guarding.mcp_connections import McpConnections, ServerUnreachableError
from agent_plugins.strands.guarding.tool_owners import ToolOwners
from agent_plugins.strands.messages import result_text
from agent_plugins.telemetry import refused_call
from mcp_memory_server import ToolStatus

HANDOFF = "handoff_to_agent"
"""The name of the tool with which an agent of a Swarm hands over."""
_INVALID_INPUT = "Validation failed for input parameters"

Next = Callable[[ExecuteToolContext], AsyncGenerator[Any, None]]
SessionOf = Callable[[ExecuteToolContext], AgentSession | None]


class GuardedCalls:
    """Wraps every call of a tool. For a refused call the model gets a structured error that it can act on."""

    def __init__(self, registry: ToolRegistry, timeout: float | None, session_of: SessionOf) -> None:
        self._registry = registry
        self._timeout = timeout
        self._session_of = session_of
        self._owners = ToolOwners(registry)
        self._connections = McpConnections()

    def watch(self, agent: Agent) -> None:
        """Register the middleware on an agent."""
        agent.add_middleware(ExecuteToolStage, self)

    async def __call__(self, context: ExecuteToolContext, next_fn: Next) -> AsyncGenerator[Any, None]:
        """Run the tool, its fallback, or return an error."""
        session = self._session_of(context)
        finding = None if session is None else _check_guards(session.guards, context)
        name, call = context.tool_use["name"], str(context.tool_use["toolUseId"])
        if finding is not None and finding.stop:
            refused_call(name, call, reason=finding.kind.value, owner=self._owners.of(context.tool, context.agent))
            yield _refused(context.tool_use, {"error": finding.kind.value, "advice": finding.message})
            return
        begun, context, notes = await self._begin_or_fallback(context)
        if isinstance(begun, Refusal):
            refused_call(name, call, reason="tool_unavailable", owner=begun.owner, retry_after=begun.retry_after)
            yield _refused(context.tool_use, begun.to_dict())
            return
        if finding is not None:
            notes = [*notes, finding.message]
        async for event in _run(begun, context, next_fn, session, self._connections):
            yield _with_notes(event, notes) if notes and isinstance(event, ToolResultEvent) else event

    async def _begin_or_fallback(
        self, context: ExecuteToolContext
    ) -> tuple[Invocation | Refusal, ExecuteToolContext, list[str]]:
        """Begin the call; while the circuit is open, that of its healthy fallback if there is one."""
        if _belongs_to_the_framework(context):
            return self._registry.begin_unguarded(context.tool_use["name"], agent=context.agent.name), context, []
        begun = await self._begin(context.tool_use["name"], context.tool, context.agent)
        if isinstance(begun, Invocation) or begun.fallback is None:
            return begun, context, []
        fallback = context.agent.tool_registry.registry.get(begun.fallback)
        instead = None if fallback is None else await self._begin(begun.fallback, fallback, context.agent)
        if not isinstance(instead, Invocation):
            return begun, context, []
        use = cast("ToolUse", {**context.tool_use, "name": begun.fallback})
        note = f"{begun.tool} is not available ({begun.reason}); this is the answer of {begun.fallback}."
        return instead, context.replace(tool=fallback, tool_use=use), [note]

    async def _begin(self, name: str, tool: AgentTool | None, agent: Any) -> Invocation | Refusal:
        owner = self._owners.of(tool, agent)
        known = self._registry.tool(name, owner)
        if tool is not None and not known.schema:
            spec = tool.tool_spec
            schema = cast("Mapping[str, Any]", spec["inputSchema"].get("json") or {"type": "object"})
            self._registry.describe(name, owner, schema, spec["description"])
        limit = self._timeout if known.timeout is None else known.timeout
        return await self._registry.begin_async(name, timeout=limit, agent=agent.name, owner=owner)


def _belongs_to_the_framework(context: ExecuteToolContext) -> bool:
    """Return whether the tool is part of the control flow of Strands. Without it a Swarm or an agent cannot go on."""
    return context.tool_use["name"] == HANDOFF or isinstance(context.tool, StructuredOutputTool)


def _check_guards(guards: Guards, context: ExecuteToolContext) -> Finding | None:
    name, arguments = context.tool_use["name"], _arguments(context.tool_use)
    if name == HANDOFF and isinstance(taker := arguments.get("agent_name"), str):
        return guards.handed_over(context.agent.name, taker)
    return guards.tool_called(context.agent.name, name, arguments)


async def _run(
    begun: Invocation,
    context: ExecuteToolContext,
    next_fn: Next,
    session: AgentSession | None,
    connections: McpConnections,
) -> AsyncGenerator[Any, None]:
    use = context.tool_use
    call, arguments = str(use["toolUseId"]), _arguments(use)
    if session is not None:
        await session.tool_begins(call, use["name"], arguments, context.agent.name, limit=begun.timeout)
    events = next_fn(context)
    result: ToolResultEvent | None = None
    try:
        if begun.is_probe:
            async with asyncio.timeout(begun.timeout):
                await connections.repair(context.tool)
        async for event in _within(events, begun.timeout):
            if isinstance(event, ToolResultEvent):
                result = event
            else:
                yield event
        if result is not None:
            connections.note(context.tool, result)
            _report(begun, result)
    except TimeoutError:
        begun.timed_out()
        result = _refused(use, _too_slow(begun))
    except ServerUnreachableError as error:
        begun.raised(error, str(error))
        result = _refused(use, _unreachable(begun, error))
    finally:
        begun.abandoned()  # ignored if a result was reported; otherwise the call was interrupted or cancelled
        await events.aclose()
    if result is not None:
        if session is not None:
            output = result_text(result.tool_result)
            await session.tool_ended(call, use["name"], arguments, output, begun.seconds or 0.0, _status(begun, result))
        yield result


def _status(begun: Invocation, event: ToolResultEvent) -> ToolStatus:
    if begun.outcome is Outcome.TIMED_OUT:
        return ToolStatus.TIMEOUT
    return ToolStatus.ERROR if event.tool_result.get("status") == "error" else ToolStatus.OK


async def _within(events: AsyncGenerator[Any, None], seconds: float | None) -> AsyncGenerator[Any, None]:
    """Yield the events, and raise TimeoutError after ``seconds`` in all.

    Only the wait for the next event is limited, in the same task: the consumer of the events must not be cancelled.
    """
    until = None if seconds is None else asyncio.get_running_loop().time() + seconds
    while True:
        try:
            async with asyncio.timeout_at(until):
                event = await anext(events)
        except StopAsyncIteration:
            return
        yield event


def _report(begun: Invocation, event: ToolResultEvent) -> None:
    """Report the result of the call. Tools of MCP servers fail by their status, without an exception."""
    result, error = event.tool_result, event.exception
    if result.get("status") != "error":
        begun.succeeded()
    elif isinstance(error, ValueError) and str(error).startswith(_INVALID_INPUT):
        begun.abandoned()  # the model called it wrongly, which says nothing about the tool
    elif error is None and cast("dict[str, Any]", result).get("cancelled"):
        begun.abandoned()  # the caller cancelled it
    else:
        begun.raised(error, result_text(result))


def _too_slow(begun: Invocation) -> dict[str, Any]:
    return {
        "error": "tool_timeout",
        "tool": begun.tool,
        "reason": f"it did not answer within {begun.timeout:g} s; it may still have done something",
        "advice": "Try it once more only if doing it twice is harmless; otherwise go on without it or tell the user.",
    }


def _unreachable(begun: Invocation, error: Exception) -> dict[str, Any]:
    return {
        "error": "tool_unavailable",
        "tool": begun.tool,
        "reason": str(error),
        "advice": f"Do not call {begun.tool} again yet: go on without it, or tell the user what could not be done.",
    }


def _refused(use: ToolUse, reply: dict[str, Any]) -> ToolResultEvent:
    return ToolResultEvent({"toolUseId": str(use["toolUseId"]), "status": "error", "content": [{"json": reply}]})


def _with_notes(event: ToolResultEvent, notes: list[str]) -> ToolResultEvent:
    result = event.tool_result
    noted = {**result, "content": [*result["content"], *({"text": note} for note in notes)]}
    return ToolResultEvent(cast("ToolResult", noted), exception=event.exception)


def _arguments(use: ToolUse) -> Mapping[str, Any]:
    given = use.get("input")
    return given if isinstance(given, Mapping) else {}
