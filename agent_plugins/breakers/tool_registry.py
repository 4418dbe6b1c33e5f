"""The tools of a process: the schema and the health of each, and which tools can replace it."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuits import BreakerRules, Health, SharedCircuits
from agent_plugins.breakers.invocations import Invocation, Invocations
from agent_plugins.breakers.permits import Permit


@dataclass(frozen=True)
class Tool:
    """A registered tool. ``fallback`` is called in its place automatically; ``alternatives`` are named to the model.

    ``timeout`` is in seconds. The caller of the tool enforces it: the registry observes, it does not interrupt.
    """

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    description: str = ""
    timeout: float | None = None
    fallback: str | None = None
    alternatives: Sequence[str] = ()
    rules: BreakerRules | None = None


@dataclass(frozen=True)
class Refusal:
    """A call that was refused. ``fallback`` is a healthy tool that may be called instead."""

    tool: str
    reason: str
    retry_after: float
    fallback: str | None = None
    alternatives: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the error as a model reads it."""
        reply: dict[str, Any] = {
            "error": "tool_unavailable",
            "tool": self.tool,
            "reason": self.reason,
            "retry_after_seconds": round(self.retry_after, 1),
            "advice": self.advice(),
        }
        if self.alternatives:
            reply["alternatives"] = list(self.alternatives)
        return reply

    def advice(self) -> str:
        """Return in one sentence what the model can do now."""
        if self.alternatives:
            return f"Use {' or '.join(self.alternatives)} instead; do not call {self.tool} again yet."
        return f"Do not call {self.tool} again yet: go on without it, or tell the user what could not be done."


class ToolRegistry:
    """Every tool with its breaker. Safe to use from any thread and event loop.

    An unknown tool is registered with its first call, because frameworks may add tools at any time.
    """

    def __init__(
        self,
        tools: Sequence[Tool] = (),
        *,
        rules: BreakerRules | None = None,
        shared: SharedCircuits | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rules = rules or BreakerRules()
        self._shared = shared
        self._monotonic = monotonic
        self._lock = Lock()
        self._tools: dict[str, Tool] = {}
        self._breakers: dict[str, CircuitBreaker] = {}
        self.invocations = Invocations(monotonic)
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> CircuitBreaker:
        """Add a tool, or replace its description. Its circuit stays as it is, unless its rules have changed."""
        with self._lock:
            known = self._breakers.get(tool.name)
            rules = tool.rules or self._rules
            if known is None or known.rules != rules:
                known = CircuitBreaker(tool.name, rules, monotonic=self._monotonic, shared=self._shared)
                self._breakers[tool.name] = known
            self._tools[tool.name] = tool
            return known

    def tool(self, name: str) -> Tool:
        """Return the tool with this name."""
        self.breaker(name)
        return self._tools[name]

    def breaker(self, name: str) -> CircuitBreaker:
        """Return the breaker of a tool."""
        # Reading a dictionary is safe without the lock, and every call comes through here.
        return self._breakers.get(name) or self.register(Tool(name))

    def begin(self, name: str, *, timeout: float | None = None, agent: str | None = None) -> Invocation | Refusal:
        """Begin a call; if the circuit is open, return why it is refused and what else could be called."""
        return self._start(name, self.breaker(name).ask(), timeout, agent)

    async def begin_async(
        self,
        name: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - of the tool, not of this
        agent: str | None = None,
    ) -> Invocation | Refusal:
        """Do as ``begin`` does, without ever blocking the event loop."""
        return self._start(name, await self.breaker(name).ask_async(), timeout, agent)

    def begin_unguarded(self, name: str, *, agent: str | None = None) -> Invocation:
        """Begin a call that no circuit watches and that is never refused, of a tool that a framework itself needs."""
        return self.invocations.begin(name, CircuitBreaker(name).ask(), None, agent)

    def healthy(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return those of the tools whose circuit is closed."""
        return tuple(name for name in names if self.breaker(name).status().health is not Health.UNAVAILABLE)

    def status(self) -> dict[str, Any]:
        """Return every tool with schema, health and circuit, and the running calls, as plain data."""
        with self._lock:
            tools = dict(self._tools)
        return {
            "tools": {name: self._describe(tool) for name, tool in sorted(tools.items())},
            "in_flight": self.invocations.describe_running(),
        }

    def _start(self, name: str, permit: Permit, timeout: float | None, agent: str | None) -> Invocation | Refusal:
        tool = self._tools[name]
        if permit.allowed:
            return self.invocations.begin(name, permit, tool.timeout if timeout is None else timeout, agent)
        fallback = self.healthy([tool.fallback] if tool.fallback else [])
        others = self.healthy([other for other in tool.alternatives if other not in (name, *fallback)])
        return Refusal(name, permit.reason, permit.retry_after, *(fallback or (None,)), alternatives=fallback + others)

    def _describe(self, tool: Tool) -> dict[str, Any]:
        status = self._breakers[tool.name].status().to_dict()
        health = status.pop("health")
        return {
            "description": tool.description,
            "schema": dict(tool.schema),
            "health": health,
            "circuit": {key: value for key, value in status.items() if key != "name"},
            "timeout": tool.timeout,
            "fallback": tool.fallback,
            "alternatives": list(tool.alternatives),
        }
