"""Any agent of Agent Squad, with a memory."""

from collections.abc import AsyncIterable
from typing import Any

from agent_squad.agents import Agent, AgentOptions
from agent_squad.types import ConversationMessage

from agent_plugins.agent_squad.current_agent import CurrentAgent, as_current, stream_as_current
from agent_plugins.memory.agent_sessions import AgentSessions
from mcp_memory_server import Scope


class MemoryAgent(Agent):
    """Wraps an agent and appends the prompt block to the message of the user.

    Agent Squad saves the message without the block, so it is in no history. The wrapped agent is ``wrapped``.
    """

    def __init__(self, wrapped: Agent, sessions: AgentSessions) -> None:
        super().__init__(
            AgentOptions(
                name=wrapped.name,
                description=wrapped.description,
                save_chat=wrapped.save_chat,
                callbacks=wrapped.callbacks,
                LOG_AGENT_DEBUG_TRACE=wrapped.log_debug_trace,
            )
        )
        self.id = wrapped.id
        self.wrapped = wrapped
        self._sessions = sessions

    def is_streaming_enabled(self) -> bool:
        """Stream if the wrapped agent does."""
        return self.wrapped.is_streaming_enabled()

    async def process_request(
        self,
        input_text: str,
        user_id: str,
        session_id: str,
        chat_history: list[ConversationMessage],
        additional_params: dict[str, Any] | None = None,
    ) -> Any:
        """Let the wrapped agent answer the message with the prompt block."""
        session = self._sessions.of(Scope(user_id, session_id))
        earlier = None if chat_history else await session.load_history()
        prompt = f"{input_text}\n\n{await session.context(self.id, earlier)}"
        now = CurrentAgent(session, self.id)
        with as_current(now):
            answer = await self.wrapped.process_request(prompt, user_id, session_id, chat_history, additional_params)
        return stream_as_current(now, answer) if isinstance(answer, AsyncIterable) else answer
