"""The tools of a process: the schema and the health of each, and which tools can replace it.

A tool belongs to its owner, an agent or an MCP server: two tools that are both called ``search`` are two circuits.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

from agent_plugins.argument_checks import check_type
from agent_plugins.breakers.circuit_breaker import CircuitBreaker
from agent_plugins.breakers.circuit_rules import BreakerRules, CircuitState, Health, SharedCircuits
from agent_plugins.breakers.invocations import Invocation, Invocations
from agent_plugins.breakers.permits import Permit

_WORST_FIRST = (Health.UNAVAILABLE, Health.DEGRADED, Health.HEALTHY)


@dataclass(frozen=True)
class Tool:
    """A registered tool. ``fallback`` is called in its place automatically; ``alternatives`` are named to the model.

    ``timeout`` is in seconds. The caller of the tool enforces it: the registry observes, it does not interrupt.
    ``owner`` is the agent or the MCP server that has it; without one, this describes every tool of that name. Each
    owner's tool has a circuit of its own, except that tools with the same ``circuit`` share one, because the same
    service is behind them.
    """

    name: str
    schema: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)
    description: str = ""
    timeout: float | None = None
    fallback: str | None = None
    alternatives: Sequence[str] = ()
    rules: BreakerRules | None = None
    owner: str | None = None
    circuit: str | None = None

    def __post_init__(self) -> None:
        check_type("the name of a Tool", self.name, str, "a text such as 'search'")
        check_type("timeout", self.timeout, (int, float, type(None)), "a number of seconds or None")
        check_type("fallback", self.fallback, (str, type(None)), "the name of a tool")
        check_type("alternatives", self.alternatives, (list, tuple), "a list of names such as ['shelf']")
        check_type("rules", self.rules, (BreakerRules, type(None)), "BreakerRules(threshold=3)")
        check_type("owner", self.owner, (str, type(None)), "the name of an agent or of an MCP server")
        check_type("circuit", self.circuit, (str, type(None)), "a name that tools share")


@dataclass(frozen=True)
class _Owned:
    """The tool of one owner, and its breaker."""

    tool: Tool
    breaker: CircuitBreaker


@dataclass(frozen=True)
class Refusal:
    """A call that was refused. ``fallback`` is a healthy tool that may be called instead."""

    tool: str
    reason: str
    retry_after: float
    fallback: str | None = None
    alternatives: tuple[str, ...] = ()
    owner: str | None = None

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
        check_type("tools", tools, (list, tuple), "a list such as [Tool('search', timeout=5)]")
        check_type("rules", rules, (BreakerRules, type(None)), "BreakerRules(threshold=3)")
        self._rules = rules or BreakerRules()
        self._shared = shared
        self._monotonic = monotonic
        self._lock = Lock()
        self._registered: dict[tuple[str, str | None], Tool] = {}
        self._owned: dict[tuple[str, str | None], _Owned] = {}
        self._breakers: dict[str, CircuitBreaker] = {}
        self._first_users: WeakKeyDictionary[object, str | None] = WeakKeyDictionary()
        self.invocations = Invocations(monotonic)
        for tool in tools:
            self.register(tool)

    def register(self, tool: Tool) -> CircuitBreaker:
        """Add a tool, or replace its description. Its circuit stays as it is, unless its rules have changed."""
        check_type("a tool", tool, Tool, "Tool('search', timeout=5)")
        with self._lock:
            self._registered[tool.name, tool.owner] = tool
            for (name, owner), known in list(self._owned.items()):
                if name == tool.name:
                    self._own(name, owner, known.tool.schema, known.tool.description)
            return self._own(tool.name, tool.owner).breaker

    def owner_of(self, tool: object, agent: str | None) -> str | None:
        """Return the owner of a tool that an agent has: the agent that used the same object first.

        So a tool that several agents have is one tool. Tools that are made anew for each request belong to the agent by
        its name.
        """
        try:
            with self._lock:
                return self._first_users.setdefault(tool, agent)
        except TypeError:  # it can be no key, or nothing can refer to it weakly
            return agent

    def describe(self, name: str, owner: str | None, schema: Mapping[str, Any], description: str) -> None:
        """Add what a framework knows about the tool of an owner to what was registered."""
        with self._lock:
            self._own(name, owner, schema, description)

    def tool(self, name: str, owner: str | None = None) -> Tool:
        """Return the tool with this name, of this owner."""
        return self._of(name, owner).tool

    def breaker(self, name: str, owner: str | None = None) -> CircuitBreaker:
        """Return the breaker of the tool of an owner."""
        return self._of(name, owner).breaker

    def begin(
        self, name: str, *, timeout: float | None = None, agent: str | None = None, owner: str | None = None
    ) -> Invocation | Refusal:
        """Begin a call; if the circuit is open, return why it is refused and what else could be called."""
        owned = self._of(name, owner)
        return self._start(owned.tool, owner, owned.breaker.ask(), timeout, agent)

    async def begin_async(
        self,
        name: str,
        *,
        timeout: float | None = None,  # noqa: ASYNC109 - of the tool, not of this
        agent: str | None = None,
        owner: str | None = None,
    ) -> Invocation | Refusal:
        """Do as ``begin`` does, without ever blocking the event loop."""
        owned = self._of(name, owner)
        return self._start(owned.tool, owner, await owned.breaker.ask_async(), timeout, agent)

    def begin_unguarded(self, name: str, *, agent: str | None = None) -> Invocation:
        """Begin a call that no circuit watches and that is never refused, of a tool that a framework itself needs."""
        return self.invocations.begin(name, CircuitBreaker(name).ask(), None, agent)

    def healthy(self, names: Sequence[str], owner: str | None = None) -> tuple[str, ...]:
        """Return those of the tools whose circuit is not open, as seen by an owner.

        A tool that this owner does not have is another's: it is healthy if it is so for anybody.
        """
        return tuple(name for name in names if self._is_healthy(name, owner))

    def status(self) -> dict[str, Any]:
        """Return every tool with schema, health and circuit, and the running calls, as plain data.

        Where several owners have a tool of one name, ``health`` and ``circuit`` are the worst, and ``owners`` has all.
        """
        with self._lock:
            owned = list(self._owned.items())
        by_name: dict[str, dict[str | None, _Owned]] = {}
        for (name, owner), each in owned:
            by_name.setdefault(name, {})[owner] = each
        return {
            "tools": {name: _describe(owners) for name, owners in sorted(by_name.items())},
            "in_flight": self.invocations.describe_running(),
        }

    def circuits(self) -> list[tuple[Tool, str | None, CircuitBreaker]]:
        """Return each tool with its owner and its breaker."""
        with self._lock:
            return [(each.tool, owner, each.breaker) for (_, owner), each in self._owned.items()]

    def _of(self, name: str, owner: str | None) -> _Owned:
        # Reading a dictionary is safe without the lock, and every call comes through here.
        known = self._owned.get((name, owner))
        if known is not None:
            return known
        with self._lock:
            return self._own(name, owner)

    def _own(
        self, name: str, owner: str | None, schema: Mapping[str, Any] | None = None, description: str = ""
    ) -> _Owned:
        general = self._registered.get((name, None)) or Tool(name)
        tool = self._registered.get((name, owner)) or general
        tool = replace(
            tool, owner=owner, schema=tool.schema or schema or {}, description=tool.description or description
        )
        found = _Owned(tool, self._breaker_for(tool))
        self._owned[name, owner] = found
        return found

    def _breaker_for(self, tool: Tool) -> CircuitBreaker:
        circuit = tool.circuit or (tool.name if tool.owner is None else f"{tool.owner}/{tool.name}")
        rules, known = tool.rules or self._rules, self._breakers.get(circuit)
        if known is None or known.rules != rules:
            known = CircuitBreaker(circuit, rules, monotonic=self._monotonic, shared=self._shared)
            self._breakers[circuit] = known
        return known

    def _is_healthy(self, name: str, owner: str | None) -> bool:
        own = self._owned.get((name, owner))
        with self._lock:
            others = [each for (other, _), each in self._owned.items() if other == name]
        known = others if own is None else [own]
        return not known or any(each.breaker.status().state is CircuitState.CLOSED for each in known)

    def _start(
        self, tool: Tool, owner: str | None, permit: Permit, timeout: float | None, agent: str | None
    ) -> Invocation | Refusal:
        if permit.allowed:
            limit = tool.timeout if timeout is None else timeout
            return self.invocations.begin(tool.name, permit, limit, agent, owner)
        fallback = self.healthy([tool.fallback] if tool.fallback else [], owner)
        others = [other for other in tool.alternatives if other not in (tool.name, *fallback)]
        return Refusal(
            tool.name,
            permit.reason,
            permit.retry_after,
            *(fallback or (None,)),
            alternatives=fallback + self.healthy(others, owner),
            owner=owner,
        )


def _describe(owners: Mapping[str | None, _Owned]) -> dict[str, Any]:
    """Return a tool as plain data. What nobody owns is a description only, unless it is all there is."""
    unowned = owners.get(None)
    used = [each for owner, each in owners.items() if owner is not None]
    if unowned is not None and (not used or unowned.breaker.status().calls):
        used.append(unowned)
    circuits = [(each.tool, _circuit(each)) for each in used]
    tool, worst = min(circuits, key=lambda found: _WORST_FIRST.index(found[1]["health"]))
    return {
        "description": tool.description,
        "schema": dict(tool.schema),
        **worst,
        "timeout": tool.timeout,
        "fallback": tool.fallback,
        "alternatives": list(tool.alternatives),
        "owners": {tool.owner: circuit for tool, circuit in circuits if tool.owner is not None},
    }


def _circuit(owned: _Owned) -> dict[str, Any]:
    status = owned.breaker.status().to_dict()
    health = status.pop("health")
    return {"health": health, "circuit": {key: value for key, value in status.items() if key != "name"}}
