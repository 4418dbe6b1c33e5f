"""Memory, circuit breakers and one shared state for an agent, a Swarm or a Graph of Strands.

agent = Agent(plugins=[MemoryPlugin(user_id="ana")])
"""

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from strands import Agent
from strands.multiagent.base import MultiAgentBase
from strands.plugins import MultiAgentPlugin, Plugin
from strands.types.tools import AgentTool

from agent_plugins.argument_checks import check_type
from agent_plugins.breakers.tool_registry import Tool, ToolRegistry
from agent_plugins.guards.agent_locks import AgentLocks
from agent_plugins.guards.loop_guards import GuardRules
from agent_plugins.memory.agent_memory import AgentMemory
from agent_plugins.memory.agent_tools import AGENT_TOOLS
from agent_plugins.memory.arguments import named, tool_registry
from agent_plugins.memory.shared_memory import Source, shared_memory
from agent_plugins.memory.shared_sessions import MAX_TOKENS, AgentSessions
from agent_plugins.state.background_loop import BACKGROUND
from agent_plugins.state.state_coordinator import StateCoordinator
from agent_plugins.strands.agent_events import AgentEvents
from agent_plugins.strands.attached import AttachedAgents
from agent_plugins.strands.guarding.guarded_calls import GuardedCalls
from agent_plugins.strands.identity import Identity, SessionResolver
from agent_plugins.strands.memory_tools import strands_tool
from agent_plugins.strands.orchestration_events import OrchestrationEvents
from mcp_memory_server import EndedSession, Owners

TOOL_SECONDS = 60.0


class MemoryPlugin(Plugin, MultiAgentPlugin):
    """Gives agents the memory of the user, and saves their messages.

    Before each call of the model it adds what is known about the user and the shared state of the session. It saves
    each message, and puts a circuit breaker and a timeout around each call of a tool. A failure of the memory never
    stops an agent: the prompt then says what could not be looked up.

    One plugin may be attached to any number of agents, and to a Swarm or a Graph, which attaches it to all its agents.
    The user and the session come from these arguments or from ``invocation_state=for_user(…)``, never from the model.
    """

    def __init__(
        self,
        user_id: str | None = None,
        session_id: str | None = None,
        *,
        memory: Source = None,
        owners: Owners | None = None,
        max_tokens: int = MAX_TOKENS,
        tools: ToolRegistry | Sequence[Tool] = (),
        tool_seconds: float | None = TOOL_SECONDS,
        task_seconds: float | None = None,
        guard_rules: GuardRules | None = None,
        offer_tools: bool = True,
        preferences_in_system_prompt: bool = False,
        learn_by: str | None = None,
        **old_names: str | None,
    ) -> None:
        """Make a plugin.

        Args:
            user_id: The default user, for calls that name none.
            session_id: The default session; without one, each user has one for as long as the plugin lives.
            memory: An open memory, or settings; by default those of the environment. It is opened when first used.
            owners: The memories beside the user's own, for example ``Owners(agent="travel", team="acme")``, and where
                new facts go.
            max_tokens: The budget of the prompt block.
            tools: Timeouts, fallbacks, alternatives and breaker rules of tools.
            tool_seconds: The timeout of tools that have none of their own; None for no timeout.
            task_seconds: The time budget of a turn; after it the prompt asks the model to finish.
            guard_rules: When repeated calls and hand-offs count as a loop.
            offer_tools: Whether the model gets the five memory tools.
            preferences_in_system_prompt: Whether preferences and what else always matters is added to the system
                prompt, which a provider can cache, and only the rest to the message.
            learn_by: By what to learn facts after each turn, in the background: "rules" recognise what people say in so
                many words (employer, home, name), "summarizer" is the model that summarizes. In any case the end of a
                session is learned from.
            old_names: ``user`` and ``session``, the former names of the first two.
        """
        super().__init__()
        for name, seconds in (("tool_seconds", tool_seconds), ("task_seconds", task_seconds)):
            check_type(name, seconds, (int, float, type(None)), "a number of seconds or None")
        for name, choice in (
            ("offer_tools", offer_tools),
            ("preferences_in_system_prompt", preferences_in_system_prompt),
        ):
            check_type(name, choice, bool, "True or False")
        self.registry = tool_registry(tools)
        self._memory = AgentMemory(shared_memory(memory), owners=owners)
        self._sessions = AgentSessions(self._memory, max_tokens=max_tokens, guard_rules=guard_rules, learn_by=learn_by)
        self._resolver = SessionResolver(Identity(*named(user_id, session_id, old_names)), self._sessions)
        self._agents = AttachedAgents()
        self._events = AgentEvents(
            self._resolver, self._agents, task_seconds, preferences_in_system_prompt=preferences_in_system_prompt
        )
        self._orchestrations = OrchestrationEvents(self._resolver, self.attach, task_seconds)
        self._calls = GuardedCalls(self.registry, tool_seconds, self._resolver.of)
        self._memory_tools: list[AgentTool] = (
            [strands_tool(each, self._resolver) for each in AGENT_TOOLS] if offer_tools else []
        )

    @property
    def name(self) -> str:
        """The name under which Strands knows the plugin."""
        return "mcp-memory"

    @property
    def tools(self) -> list[AgentTool]:  # pyright: ignore[reportIncompatibleMethodOverride] - any tool will do there
        """The memory tools, which Strands adds to an agent."""
        return self._memory_tools

    def init_agent(self, agent: Agent) -> None:
        """Attach to an agent. Its plugin registry adds the tools."""
        if self._agents.add(agent):
            self._events.watch(agent)
            self._calls.watch(agent)

    def init_multi_agent(self, orchestrator: MultiAgentBase) -> None:
        """Attach to a Swarm or a Graph, and to its agents as soon as it has them."""
        self._orchestrations.watch(orchestrator)

    def attach(self, agent: Agent) -> None:
        """Attach to an agent that was created without the plugin. Attaching twice is harmless."""
        check_type("agent", agent, Agent, "an Agent of Strands")
        if not self._agents.knows(agent):
            self.init_agent(agent)
            if self.tools:
                agent.tool_registry.process_tools(list(self.tools))

    def coordinator(self, invocation_state: Mapping[str, Any] | None = None) -> StateCoordinator:
        """Return the shared state of the session of an invocation, for tools and for the host application.

        Raises:
            InvalidRequestError: No user was named.
        """
        return self._resolver.resolve(invocation_state or {}).coordinator

    def locks(self, invocation_state: Mapping[str, Any] | None = None) -> AgentLocks:
        """Return the locks of that session, for tools that must not run at the same time.

        Raises:
            InvalidRequestError: No user was named.
        """
        return self._resolver.resolve(invocation_state or {}).locks

    def end_session(
        self,
        invocation_state: Mapping[str, Any] | None = None,
        *,
        summary: str | None = None,
        open_questions: Sequence[str] = (),
    ) -> EndedSession:
        """End the session: it is summarized, and its facts are learned. For synchronous code.

        Without a ``summary`` and ``open_questions``, the next conversation gets a summary of the turns. A user without
        a session of their own begins a new one with the next turn; a turn in a named session continues it.

        Raises:
            InvalidRequestError: No user was named.
            UnavailableError: The memory did not answer.
        """
        ending = self.end_session_async(invocation_state, summary=summary, open_questions=open_questions)
        return BACKGROUND.wait_for(BACKGROUND.submit(ending))

    async def end_session_async(
        self,
        invocation_state: Mapping[str, Any] | None = None,
        *,
        summary: str | None = None,
        open_questions: Sequence[str] = (),
    ) -> EndedSession:
        """Do as ``end_session`` does, without blocking the event loop."""
        return await self._resolver.end(invocation_state or {}, summary, open_questions)

    def status(self) -> dict[str, Any]:
        """Return the status of the tools, the running calls, and the findings of the guards."""
        return {**self.registry.status(), "guards": self._sessions.counts()}

    def close(self) -> None:
        """Close the memory, also for other plugins with the same settings. By default that happens at exit."""
        self._sessions.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()
