"""An Agent Squad with a memory.

squad = MemorySquad(classifier=…)   # where AgentSquad(classifier=…) was
"""

from typing import Any

from agent_squad.agents import Agent, AgentResponse
from agent_squad.classifiers import ClassifierResult
from agent_squad.orchestrator import AgentSquad
from agent_squad.storage import ChatStorage

from agent_plugins.agent_squad.agents import MemoryAgent
from agent_plugins.agent_squad.chat_storage import MemoryChatStorage
from agent_plugins.guards.agent_locks import AgentLocks
from agent_plugins.guards.guards import GuardRules
from agent_plugins.memory.agent_memory import AgentMemory
from agent_plugins.memory.agent_sessions import MAX_TOKENS, AgentSession, AgentSessions
from agent_plugins.memory.shared_memory import Source, shared_memory
from agent_plugins.state.state_coordinator import StateCoordinator
from mcp_memory_server import Scope


class MemorySquad(AgentSquad):
    """Gives every agent the memory of the user, saves every message, and sets which agent was chosen in the state.

    Agents of any class get a memory when they are added. Chats are stored in the same table, unless another storage
    is given. The user and the session are those of ``route_request``.
    """

    def __init__(
        self,
        *args: Any,
        memory: Source = None,
        max_tokens: int = MAX_TOKENS,
        task_seconds: float | None = None,
        guard_rules: GuardRules | None = None,
        storage: ChatStorage | None = None,
        default_agent: Agent | None = None,
        **more: Any,
    ) -> None:
        """Create a squad. All other arguments are those of AgentSquad."""
        self._memory = AgentMemory(shared_memory(memory))
        self._sessions = AgentSessions(self._memory, max_tokens=max_tokens, guard_rules=guard_rules)
        self._task_seconds = task_seconds
        super().__init__(*args, storage=storage or MemoryChatStorage(self._memory), **more)
        if default_agent is not None:
            self.set_default_agent(default_agent)

    def add_agent(self, agent: Agent) -> None:
        """Add an agent, with a memory."""
        super().add_agent(self.remembering(agent))

    def set_default_agent(self, agent: Agent) -> None:
        """Set the agent that answers when none is chosen."""
        super().set_default_agent(self.remembering(agent))

    def remembering(self, agent: Agent) -> Agent:
        """Return the agent with a memory, for members of a team, which are not added to the squad itself."""
        return agent if isinstance(agent, MemoryAgent) else MemoryAgent(agent, self._sessions)

    def coordinator(self, user_id: str, session_id: str) -> StateCoordinator:
        """Return the shared state of a session."""
        return self._session(user_id, session_id).coordinator

    def locks(self, user_id: str, session_id: str) -> AgentLocks:
        """Return the locks of a session, for tools that must not run at the same time."""
        return self._session(user_id, session_id).locks

    def close(self) -> None:
        """Close the memory, also for other plugins with the same settings. By default that happens at exit."""
        self._sessions.close()

    async def classify_request(self, user_input: str, user_id: str, session_id: str) -> ClassifierResult:
        """Choose an agent and set it in the shared state, or the question that the user must answer first."""
        session = self._session(user_id, session_id)
        await session.turn_begins(" ".join(user_input.split())[:200], seconds=self._task_seconds)
        chosen = await super().classify_request(user_input, user_id, session_id)
        if chosen.selected_agent is None:
            await session.asks_user(self.config.NO_SELECTED_AGENT_MESSAGE)
        else:
            await session.agent_takes_over(chosen.selected_agent.id, intent=chosen.selected_agent.name)
        return chosen

    async def agent_process_request(
        self,
        user_input: str,
        user_id: str,
        session_id: str,
        classifier_result: ClassifierResult,
        additional_params: dict[str, str] | None = None,
        stream_response: bool | None = False,  # noqa: FBT001, FBT002 - as Agent Squad has it
    ) -> AgentResponse:
        """Let the agent answer, and count the turn, also when the agent fails."""
        try:
            return await super().agent_process_request(
                user_input, user_id, session_id, classifier_result, additional_params, stream_response
            )
        finally:
            await self._session(user_id, session_id).turn_ended()

    def _session(self, user_id: str, session_id: str) -> AgentSession:
        return self._sessions.of(Scope(user_id, session_id))
