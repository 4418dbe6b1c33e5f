"""An Agent Squad with a memory.

squad = MemorySquad(classifier=…)   # where AgentSquad(classifier=…) was
"""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, cast

from agent_squad.agents import Agent, AgentResponse, SupervisorAgent
from agent_squad.classifiers import ClassifierResult
from agent_squad.orchestrator import AgentSquad
from agent_squad.storage import ChatStorage
from agent_squad.types import ConversationMessage, ParticipantRole

from agent_plugins.agent_squad.agents import MemoryAgent
from agent_plugins.agent_squad.chat_storage import MemoryChatStorage
from agent_plugins.agent_squad.parts import agents_in, tools_of
from agent_plugins.agent_squad.tools import GuardedTools
from agent_plugins.argument_checks import check_type
from agent_plugins.breakers.tool_registry import Tool, ToolRegistry
from agent_plugins.guards.agent_locks import AgentLocks
from agent_plugins.guards.loop_guards import GuardRules
from agent_plugins.memory.agent_memory import AgentMemory
from agent_plugins.memory.arguments import tool_registry
from agent_plugins.memory.shared_memory import Source, shared_memory
from agent_plugins.memory.shared_sessions import MAX_TOKENS, AgentSession, AgentSessions
from agent_plugins.state.state_coordinator import StateCoordinator
from mcp_memory_server import EndedSession, Owners, Scope

TURNS_LEARNED = 2
"""A question and its answer."""


@dataclass
class _Request:
    """A request to the squad."""

    is_question_saved: bool = False


_request: ContextVar[_Request | None] = ContextVar("agent_squad_request", default=None)


class MemorySquad(AgentSquad):
    """Gives every agent the memory of the user, saves every message, and sets which agent was chosen in the state.

    Agents of any class get a memory when they are added. Chats are stored in the same table, unless another storage
    is given. The user and the session are those of ``route_request``.
    """

    def __init__(
        self,
        *args: Any,
        memory: Source = None,
        owners: Owners | None = None,
        max_tokens: int = MAX_TOKENS,
        task_seconds: float | None = None,
        guard_rules: GuardRules | None = None,
        tools: ToolRegistry | Sequence[Tool] = (),
        storage: ChatStorage | None = None,
        default_agent: Agent | None = None,
        learn_by: str | None = None,
        **more: Any,
    ) -> None:
        """Create a squad.

        Args:
            args: The arguments of AgentSquad, as all that are not named here.
            memory: An open memory, or settings; by default those of the environment. It is opened when first used.
            owners: The memories beside the user's own, for example ``Owners(agent="travel", team="acme")``, and where
                new facts go.
            max_tokens: The budget of the prompt block.
            task_seconds: The time budget of a turn; after it the prompt asks the model to finish.
            guard_rules: When repeated calls and hand-offs count as a loop.
            tools: Timeouts, fallbacks, alternatives and breaker rules of tools, for all agents with `GuardedTools`.
            storage: Where chats are stored; by default in the memory.
            default_agent: The agent that answers when none is chosen.
            learn_by: By what to learn facts after each turn, in the background: "rules" or "summarizer"; by default the
                end of a session is learned from.
            more: The arguments of AgentSquad.
        """
        check_type("task_seconds", task_seconds, (int, float, type(None)), "a number of seconds or None")
        self.registry = tool_registry(tools)
        self._memory = AgentMemory(shared_memory(memory), owners=owners)
        self._sessions = AgentSessions(self._memory, max_tokens=max_tokens, guard_rules=guard_rules, learn_by=learn_by)
        self._task_seconds = task_seconds
        super().__init__(*args, storage=storage or MemoryChatStorage(self._memory), **more)
        if default_agent is not None:
            self.set_default_agent(default_agent)

    def add_agent(self, agent: Agent) -> None:
        """Add an agent, with a memory; with a supervisor, its team gets one too."""
        super().add_agent(self._adopted(agent))

    def set_default_agent(self, agent: Agent) -> None:
        """Set the agent that answers when none is chosen."""
        super().set_default_agent(self._adopted(agent))

    def remembering(self, agent: Agent) -> Agent:
        """Return the agent with a memory, for members of a team, which are not added to the squad itself."""
        check_type("agent", agent, Agent, "an agent of Agent Squad")
        self._share_circuits(agent)
        return agent if isinstance(agent, MemoryAgent) else MemoryAgent(agent, self._sessions)

    def _adopted(self, agent: Agent) -> Agent:
        check_type("agent", agent, Agent, "an agent of Agent Squad")
        if isinstance(agent, SupervisorAgent):
            agent.team[:] = [self.remembering(member) for member in agent.team]
        self._share_circuits(agent)
        return agent if isinstance(agent, MemoryAgent) else MemoryAgent(agent, self._sessions, self._save_question)

    def _share_circuits(self, agent: Agent) -> None:
        for each in agents_in(agent):
            tools = tools_of(each)
            for guarded in [tools, *(getattr(tool.func, "tools", None) for tool in (tools.tools if tools else ()))]:
                if isinstance(guarded, GuardedTools):
                    guarded.join(self.registry)

    def coordinator(self, user_id: str, session_id: str) -> StateCoordinator:
        """Return the shared state of a session."""
        return self._session(user_id, session_id).coordinator

    def locks(self, user_id: str, session_id: str) -> AgentLocks:
        """Return the locks of a session, for tools that must not run at the same time."""
        return self._session(user_id, session_id).locks

    async def end_session(
        self, user_id: str, session_id: str, *, summary: str | None = None, open_questions: Sequence[str] = ()
    ) -> EndedSession:
        """End the session: it is summarized, and its facts are learned. A turn in it afterwards continues it.

        Raises:
            UnavailableError: The memory did not answer.
        """
        return await self._sessions.end(Scope(user_id, session_id), summary=summary, open_questions=open_questions)

    def status(self) -> dict[str, Any]:
        """Return the status of the tools, the running calls, and the findings of the guards."""
        return {**self.registry.status(), "guards": self._sessions.counts()}

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
        token = _request.set(_Request())
        try:
            return await super().agent_process_request(
                user_input, user_id, session_id, classifier_result, additional_params, stream_response
            )
        finally:
            _request.reset(token)
            session = self._session(user_id, session_id)
            await session.turn_ended()
            session.learn(TURNS_LEARNED)

    async def save_message(self, message: ConversationMessage, user_id: str, session_id: str, agent: Agent) -> Any:
        """Save a message, unless it is the question, which was saved before it was answered."""
        request = _request.get()
        if request is not None and request.is_question_saved and message.role == ParticipantRole.USER.value:
            return None
        return await super().save_message(message, user_id, session_id, agent)

    async def _save_question(self, words: str, user_id: str, session_id: str, agent: Agent) -> None:
        request = _request.get()
        if request is None or not isinstance(self.storage, MemoryChatStorage):
            return  # other storages expect a question and its answer together
        message = ConversationMessage(
            role=cast("ParticipantRole", ParticipantRole.USER.value), content=[{"text": words}]
        )
        await super().save_message(message, user_id, session_id, agent)
        request.is_question_saved = True

    def _session(self, user_id: str, session_id: str) -> AgentSession:
        check_type("user_id", user_id, str, "a text such as 'ana'")
        check_type("session_id", session_id, str, "a text such as 'chat-7'")
        return self._sessions.of(Scope(user_id, session_id))
