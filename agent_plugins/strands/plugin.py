"""Memory, circuit breakers and one shared state for an agent, a Swarm or a Graph of Strands.

agent = Agent(plugins=[MemoryPlugin(user="ana")])
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from strands import Agent
from strands.multiagent.base import MultiAgentBase
from strands.plugins import MultiAgentPlugin, Plugin
from strands.types.tools import AgentTool

from agent_plugins.breakers.tool_registry import Tool, ToolRegistry
from agent_plugins.guards.agent_locks import AgentLocks
from agent_plugins.guards.guards import GuardRules
from agent_plugins.memory.agent_memory import AgentMemory
from agent_plugins.memory.agent_sessions import MAX_TOKENS, AgentSessions
from agent_plugins.memory.memory_tools import AGENT_TOOLS
from agent_plugins.memory.shared_memory import Source, shared_memory
from agent_plugins.state.state_coordinator import StateCoordinator
from agent_plugins.strands.agent_events import AgentEvents
from agent_plugins.strands.attached import AttachedAgents
from agent_plugins.strands.guarding import GuardedCalls
from agent_plugins.strands.identity import Identity, NamedSessions
from agent_plugins.strands.offered_tools import offered
from agent_plugins.strands.orchestration_events import OrchestrationEvents

TOOL_SECONDS = 60.0


class MemoryPlugin(Plugin, MultiAgentPlugin):
    """Gives agents what is known about the user, and keeps what is said.

    Before each call of the model it tells what is known and what the agents of the session share; each message is kept
    as it is added; around each call of a tool there is a circuit breaker and a time limit. Nothing that is wrong with
    the memory stops an agent: the model is told what could not be looked up.

    One plugin may be attached to any number of agents, and to a Swarm or a Graph, which attaches it to all its agents.
    The user and the session come from here or from ``invocation_state=for_user(…)``, never from the model.
    """

    def __init__(
        self,
        user: str | None = None,
        session: str | None = None,
        *,
        memory: Source = None,
        max_tokens: int = MAX_TOKENS,
        tools: ToolRegistry | Sequence[Tool] = (),
        tool_seconds: float | None = TOOL_SECONDS,
        task_seconds: float | None = None,
        guard_rules: GuardRules | None = None,
        offer_tools: bool = True,
    ) -> None:
        """Make a plugin.

        Args:
            user: Whose memory it is, for calls that do not say.
            session: Which conversation it is; without one, each user has one for as long as the plugin lives.
            memory: An open memory, or settings; by default those of the environment. It is opened when first needed.
            max_tokens: The budget for all that a model is told beside the conversation.
            tools: What is known about tools: their time limits, fallbacks, alternatives and rules.
            tool_seconds: How long a tool may take that has no limit of its own; None for as long as it likes.
            task_seconds: How long a turn may take before the model is told to finish.
            guard_rules: When an agent counts as running in circles.
            offer_tools: Whether the model gets the five memory tools.
        """
        super().__init__()
        self.registry = tools if isinstance(tools, ToolRegistry) else ToolRegistry(tools)
        self._memory = AgentMemory(shared_memory(memory))
        self._sessions = AgentSessions(self._memory, max_tokens=max_tokens, guard_rules=guard_rules)
        self._named = NamedSessions(Identity(user, session), self._sessions)
        self._agents = AttachedAgents()
        self._events = AgentEvents(self._named, self._agents, task_seconds)
        self._orchestrations = OrchestrationEvents(self._named, self._agents, self.attach, task_seconds)
        self._calls = GuardedCalls(self.registry, tool_seconds, self._named.of)
        self._offered: list[AgentTool] = [offered(each, self._named) for each in AGENT_TOOLS] if offer_tools else []

    @property
    def name(self) -> str:
        """The name under which Strands knows the plugin."""
        return "mcp-memory"

    @property
    def tools(self) -> list[AgentTool]:  # pyright: ignore[reportIncompatibleMethodOverride] - any tool will do there
        """The memory tools, which Strands adds to an agent."""
        return self._offered

    def init_agent(self, agent: Agent) -> None:
        """Attach to an agent. Its plugin registry adds the tools."""
        if self._agents.add(agent):
            self._events.watch(agent)
            self._calls.watch(agent)

    def init_multi_agent(self, orchestrator: MultiAgentBase) -> None:
        """Attach to a Swarm or a Graph, and to its agents as soon as it has them."""
        self._orchestrations.watch(orchestrator)

    def attach(self, agent: Agent) -> None:
        """Attach to an agent that was made without the plugin. Twice is harmless."""
        if not self._agents.knows(agent):
            self.init_agent(agent)
            if self.tools:
                agent.tool_registry.process_tools(list(self.tools))

    def coordinator(self, invocation_state: Mapping[str, Any] | None = None) -> StateCoordinator:
        """Return the shared state of the session that an invocation is part of: for tools, and for the host.

        Raises:
            InvalidRequestError: Nobody said whose session it is.
        """
        return self._named.named_in(invocation_state or {}).coordinator

    def locks(self, invocation_state: Mapping[str, Any] | None = None) -> AgentLocks:
        """Return the locks of that session, for tools that must not run at the same time.

        Raises:
            InvalidRequestError: Nobody said whose session it is.
        """
        return self._named.named_in(invocation_state or {}).locks

    def status(self) -> dict[str, Any]:
        """Return how the tools are doing, which calls are under way, and how often agents ran away."""
        return {**self.registry.status(), "guards": self._sessions.counts()}

    def close(self) -> None:
        """Close the memory, also for other plugins with the same settings. Without this call, that is done at exit."""
        self._sessions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()
