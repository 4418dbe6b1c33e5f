"""Any agent of Agent Squad, with a memory."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from agent_squad.agents import Agent, AgentOptions
from agent_squad.types import ConversationMessage

from agent_plugins.agent_squad.messages import from_squad_message
from agent_plugins.agent_squad.one_at_a_time import OneAtATime
from agent_plugins.agent_squad.parts import copy_for_request, retrieve_by_words, strands_agents_in
from agent_plugins.agent_squad.running_agents import RunningSquadAgent
from agent_plugins.memory.earlier_section import not_in
from agent_plugins.memory.running_invocations import enclosing
from agent_plugins.memory.shared_sessions import AgentSessions
from agent_plugins.telemetry import injection
from mcp_memory_server import InvalidRequestError, Role, Scope, Status

SaveQuestion = Callable[[str, str, str, Agent], Awaitable[object]]
"""Saves the words of a user, in a session, said to an agent."""

_turns: WeakKeyDictionary[Agent, OneAtATime] = WeakKeyDictionary()


class MemoryAgent(Agent):
    """Wraps an agent and appends the prompt block to the message of the user.

    Agent Squad saves the message without the block, so it is in no history, and a retriever of the agent gets the words
    without it. The wrapped agent is ``wrapped``. A supervisor is copied for each request, because it keeps the user in
    an attribute; requests to an agent of Strands wait for each other, because it keeps the messages in one.
    """

    def __init__(self, wrapped: Agent, sessions: AgentSessions, save_question: SaveQuestion | None = None) -> None:
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
        self._save_question = save_question
        self._strands_agents = WeakSet(strands_agents_in(wrapped))
        retrieve_by_words(wrapped)

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
        now = self._running(Scope(user_id, session_id), input_text)
        block, _ = await asyncio.gather(self._injected(now, chat_history), self._question_saved(now))
        answering = copy_for_request(self.wrapped)

        async def answer() -> Any:
            with now.as_current():
                prompt = f"{input_text}\n\n{block}" if block else input_text
                return await answering.process_request(prompt, user_id, session_id, chat_history, additional_params)

        if not self._strands_agents:
            return await _answer(now, answer)
        return await _answer_in_turn(now, answer, self._turn_taking(now), streams=self.is_streaming_enabled())

    def _running(self, scope: Scope, words: str) -> RunningSquadAgent:
        outer = enclosing(scope)
        return RunningSquadAgent(
            scope=scope,
            outer=outer,
            answers_user=outer is None,
            prepared=self._strands_agents,
            session=self._sessions.of(scope),
            agent=self.id,
            words=words,
        )

    async def _injected(self, now: RunningSquadAgent, chat_history: list[ConversationMessage]) -> str:
        with injection(self.id) as injected:
            return injected.add(await self._context(now, chat_history))

    async def _context(self, now: RunningSquadAgent, chat_history: list[ConversationMessage]) -> str:
        """Return the prompt block, with what was said to other agents, which is not in the chat with this one."""
        found = await now.session.load_conversation()
        said = "\n".join(from_squad_message(message).text() for message in chat_history)
        turns = [turn for turn in found.turns if turn.agent != self.id or not_in([turn], said)]
        if turns and turns[-1].role is Role.USER and turns[-1].content == now.words:
            turns = turns[:-1]  # the question itself, which is being saved
        earlier = now.session.earlier(found.summary, turns, found.missing)
        begins = found.status is not Status.UNAVAILABLE and not found.turn_count and not chat_history
        return await now.session.context(self.id, earlier, words=now.words, said=said, begins=begins)

    async def _question_saved(self, now: RunningSquadAgent) -> None:
        """Save the question before it is answered: it was asked, whatever becomes of the answer."""
        if self._save_question is not None and now.is_outermost and now.session.scope.session_id is not None:
            await self._save_question(now.words, now.session.scope.user_id, now.session.scope.session_id, self)

    def _turn_taking(self, now: RunningSquadAgent) -> OneAtATime:
        outer = now.outer
        while outer is not None:
            if isinstance(outer, RunningSquadAgent) and outer.prepared == self._strands_agents:
                raise InvalidRequestError(f"agent {self.id!r} is asked by itself, and would wait for its own answer")
            outer = outer.outer
        return _turns.setdefault(self.wrapped, OneAtATime())


async def _answer(now: RunningSquadAgent, answer: Callable[[], Awaitable[Any]]) -> Any:
    try:
        given = await answer()
    except BaseException:
        now.is_over = True
        raise
    if isinstance(given, AsyncIterable):
        return _streamed(now, given)
    now.is_over = True
    return given


async def _answer_in_turn(
    now: RunningSquadAgent, answer: Callable[[], Awaitable[Any]], turns: OneAtATime, *, streams: bool
) -> Any:
    """Hold the turn for as long as the agent works. One that streams begins when its stream is read."""
    if streams:
        return _streamed_in_turn(now, answer, turns)
    async with turns.turn():
        return await _answer(now, answer)


async def _streamed(now: RunningSquadAgent, stream: AsyncIterable[Any]) -> AsyncGenerator[Any, None]:
    try:
        async for chunk in now.steps(stream):
            yield chunk
    finally:
        now.is_over = True


async def _streamed_in_turn(
    now: RunningSquadAgent, answer: Callable[[], Awaitable[Any]], turns: OneAtATime
) -> AsyncGenerator[Any, None]:
    async with turns.turn():
        async for chunk in await _answer(now, answer):
            yield chunk
