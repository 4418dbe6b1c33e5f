"""Tools of Agent Squad with circuit breakers, and the memory as tools.

In Agent Squad an exception of a tool ends the whole request. Here it is counted, and becomes an answer that the model
can act on.
"""

import asyncio
import contextvars
import copy
import functools
import inspect
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from agent_squad.utils import AgentTool, AgentToolCallbacks, AgentTools, ToolResult

from agent_plugins.agent_squad.mcp_tools import FAILED, McpServers, is_mcp_provider
from agent_plugins.agent_squad.running_agents import RunningSquadAgent, running
from agent_plugins.argument_checks import check_type
from agent_plugins.breakers.daemon_threads import DaemonThreads
from agent_plugins.breakers.invocations import Invocation, Outcome
from agent_plugins.breakers.tool_registry import Refusal, ToolRegistry
from agent_plugins.guards.loop_guards import Finding
from agent_plugins.memory.agent_tools import AGENT_TOOLS
from agent_plugins.telemetry import refused_call
from mcp_memory_server import MemoryTool, ToolStatus

TOOL_SECONDS = 60.0
MEMORY = "memory"

_threads = DaemonThreads()


class GuardedTools(AgentTools):
    """Tools with circuit breakers, timeouts, guards against loops, and a log.

    BedrockLLMAgentOptions(…, tool_config={"tool": GuardedTools([AgentTool(…)])})
    """

    def __init__(
        self,
        tools: AgentTools | Sequence[AgentTool],
        callbacks: AgentToolCallbacks | None = None,
        *,
        registry: ToolRegistry | None = None,
        tool_seconds: float | None = TOOL_SECONDS,
    ) -> None:
        """Wrap tools, or those of a provider.

        ``registry`` has their timeouts, fallbacks and alternatives; by default it is that of the squad.
        """
        example = "a list such as [AgentTool('search', func=search)], or a provider of tools"
        check_type("tools", tools, (AgentTools, list, tuple), example)
        for tool in () if isinstance(tools, AgentTools) else tools:
            check_type("tools", tool, AgentTool, example)
        check_type("registry", registry, (ToolRegistry, type(None)), "ToolRegistry([Tool('search', timeout=5)])")
        check_type("tool_seconds", tool_seconds, (int, float, type(None)), "a number of seconds or None")
        provider = tools if isinstance(tools, AgentTools) else AgentTools(list(tools))
        self._servers = McpServers(provider)
        super().__init__(
            self._servers.tools() if is_mcp_provider(provider) else provider.tools, callbacks or provider.callbacks
        )
        self._provider = provider
        self._unguarded = {tool.name: tool for tool in self.tools}
        self.tools = [self._with_guard(tool) for tool in self.tools]
        self._registry = registry
        self._own_registry = ToolRegistry()
        self._tool_seconds = tool_seconds

    @property
    def registry(self) -> ToolRegistry:
        """The circuits of the tools: those that were given, else those of the squad, else its own."""
        return self._registry or self._own_registry

    def to_claude_format(self) -> list[dict[str, Any]]:
        """Return the tools for Anthropic's API, with the schemas that a provider has from its servers."""
        return self._provider.to_claude_format()

    def to_bedrock_format(self) -> list[dict[str, Any]]:
        """Return the tools for Bedrock's API, with the schemas that a provider has from its servers."""
        return self._provider.to_bedrock_format()

    def to_openai_format(self) -> list[dict[str, Any]]:
        """Return the tools for OpenAI's API, with the schemas that a provider has from its servers."""
        provider: Any = self._provider
        if is_mcp_provider(provider):
            return provider.to_openai_format()
        return [tool.to_openai_format() for tool in self.tools]

    def join(self, registry: ToolRegistry) -> None:
        """Share the circuits of a squad, unless others were given."""
        self._registry = self._registry or registry

    async def _process_tool(self, tool_name: str, input_data: dict[str, Any]) -> Any:
        found = self._named(tool_name)
        if found is None:
            return _as_json({"error": "unknown_tool", "tool": tool_name, "tools": [tool.name for tool in self.tools]})
        now = running()
        finding = None if now is None else now.session.guards.tool_called(now.agent, tool_name, input_data)
        if finding is not None and finding.stop:
            refused_call(tool_name, reason=finding.kind.value, owner=self._owner_of(found, now and now.agent))
            return _as_json({"error": finding.kind.value, "advice": finding.message})
        begun = await self._begin(found, now)
        note = None
        if isinstance(begun, Refusal):
            instead = None if begun.fallback is None else self._named(begun.fallback)
            allowed = None if instead is None else await self._begin(instead, now)
            if instead is None or not isinstance(allowed, Invocation):
                refused_call(tool_name, reason="tool_unavailable", owner=begun.owner, retry_after=begun.retry_after)
                return _as_json(begun.to_dict())
            note = f"{tool_name} is not available ({begun.reason}); this is the answer of {instead.name}."
            found, begun = instead, allowed
        return _with_notes(await self._called(found, input_data, begun, now), note, finding)

    async def _begin(self, tool: AgentTool, now: RunningSquadAgent | None) -> Invocation | Refusal:
        agent = None if now is None else now.agent
        owner = self._owner_of(tool, agent)
        known = self.registry.tool(tool.name, owner)
        if not known.schema:
            schema = {"type": "object", "properties": tool.properties, "required": tool.required}
            self.registry.describe(tool.name, owner, schema, tool.func_description)
        limit = self._tool_seconds if known.timeout is None else known.timeout
        return await self.registry.begin_async(tool.name, timeout=limit, agent=agent, owner=owner)

    def _owner_of(self, tool: AgentTool, agent: str | None) -> str | None:
        if isinstance(tool, _SquadMemoryTool):
            return MEMORY
        function = getattr(tool.func, "__wrapped__", tool.func)
        return self._servers.owner_of(tool.name) or self.registry.owner_of(function, agent)

    async def _called(
        self, tool: AgentTool, inputs: dict[str, Any], begun: Invocation, now: RunningSquadAgent | None
    ) -> Any:
        call, started = uuid4().hex, time.monotonic()
        if now is not None:
            await now.session.tool_begins(call, tool.name, inputs, now.agent, limit=begun.timeout)
        answer = await self._answer(tool, inputs, begun)
        if now is not None:
            seconds, status = time.monotonic() - started, _status(begun)
            await now.session.tool_ended(call, tool.name, inputs, _text(answer), seconds, status)
        return answer

    async def _answer(self, tool: AgentTool, inputs: dict[str, Any], begun: Invocation) -> Any:
        function: Callable[..., Any] = getattr(tool.func, "__wrapped__", tool.func)
        try:
            inspect.signature(function).bind(**inputs)
        except TypeError as error:
            begun.abandoned()  # the model called it wrongly, which says nothing about the tool
            return _as_json({"error": "invalid_request", "tool": tool.name, "reason": str(error)})
        try:
            async with asyncio.timeout(begun.timeout):
                if begun.is_probe:
                    await self._servers.repair(tool.name)
                answer = await _run(function, inputs)
        except TimeoutError as error:
            begun.timed_out()
            return await self._failure(tool.name, inputs, error, "tool_timeout", "it did not answer in time")
        except Exception as error:  # noqa: BLE001 - the edge: whatever a tool raises must not end the request
            begun.raised(error, str(error))
            return await self._failure(tool.name, inputs, error, "tool_failed", f"{type(error).__name__}: {error}")
        except BaseException:
            begun.abandoned()  # cancelled
            raise
        self._servers.note(tool.name, _text(answer))
        if _text(answer).startswith(FAILED):
            begun.raised(None, _text(answer))
        else:
            begun.succeeded()
        return answer

    async def _failure(self, tool: str, inputs: dict[str, Any], error: Exception, kind: str, reason: str) -> str:
        await self.callbacks.on_tool_error(tool, inputs, error)
        return _as_json(
            {"error": kind, "tool": tool, "reason": reason, "advice": "Go on without it, or tell the user."}
        )

    def _named(self, name: str) -> AgentTool | None:
        return self._unguarded.get(name)

    def _with_guard(self, tool: AgentTool) -> AgentTool:
        """Return the tool with a function that is guarded, for a supervisor, which takes the tools out of this."""
        guarded = copy.copy(tool)
        guarded.func = GuardedFunction(self, tool.name)
        return guarded


class GuardedFunction:
    """The function of a guarded tool."""

    def __init__(self, tools: GuardedTools, name: str) -> None:
        self.tools = tools
        self._name = name

    async def __call__(self, **inputs: Any) -> Any:
        """Call the tool, if its circuit and the guards allow it."""
        return await self.tools._process_tool(self._name, inputs)  # pyright: ignore[reportPrivateUsage]


class _SquadMemoryTool(AgentTool):
    """A memory tool. It belongs to the memory, whichever agent has it."""


def memory_tools() -> list[AgentTool]:
    """Return the five memory tools, for agents of a MemorySquad. The user comes from the squad, not from the model."""
    return [_agent_tool(tool) for tool in AGENT_TOOLS]


def _agent_tool(tool: MemoryTool) -> AgentTool:
    async def answer(**arguments: Any) -> str:
        now = running()
        if now is None:
            return _as_json(
                {"error": "invalid_request", "message": "this agent has no memory: add it to a MemorySquad"}
            )
        return _as_json(await now.session.memory.use(tool, now.session.scope, arguments))

    schema = tool.input_schema
    required = schema.get("required", [])
    made = _SquadMemoryTool(tool.name, tool.description, schema["properties"], required, answer)
    made.required = required  # Agent Squad takes an empty list for "all are required"
    return made


async def _run(function: Callable[..., Any], inputs: dict[str, Any]) -> Any:
    """Call the function; a synchronous one runs in a daemon thread, so that it cannot block the loop or its closing."""
    if inspect.iscoroutinefunction(function):
        return await function(**inputs)
    context = contextvars.copy_context()
    call = functools.partial(context.run, functools.partial(function, **inputs))
    answer = await asyncio.get_running_loop().run_in_executor(_threads, call)
    return await answer if inspect.isawaitable(answer) else answer


def _text(answer: Any) -> str:
    return answer.content if isinstance(answer, ToolResult) else str(answer)


def _status(begun: Invocation) -> ToolStatus:
    if begun.outcome is Outcome.TIMED_OUT:
        return ToolStatus.TIMEOUT
    return ToolStatus.ERROR if begun.outcome is Outcome.FAILED else ToolStatus.OK


def _with_notes(answer: Any, note: str | None, finding: Finding | None) -> Any:
    notes = [text for text in (note, None if finding is None else finding.message) if text]
    if not notes:
        return answer
    if isinstance(answer, ToolResult):
        return replace(answer, content="\n".join([answer.content, *notes]))
    return "\n".join([answer if isinstance(answer, str) else _as_json(answer), *notes])


def _as_json(reply: Any) -> str:
    return json.dumps(reply, ensure_ascii=False, default=str)
