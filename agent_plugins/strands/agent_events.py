"""Invocations of a Strands agent: their session, their messages, and the prompt block."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from typing import Any, cast
from uuid import uuid4
from weakref import ref

from strands import Agent
from strands.hooks import AfterModelCallEvent, BeforeModelCallEvent, MessageAddedEvent
from strands.middleware import InvokeModelStage
from strands.middleware._agent_stream import AgentStreamContext, AgentStreamStage  # internal in Strands 1.62
from strands.middleware.stages import InvokeModelContext
from strands.types.content import Message

from agent_plugins.memory.prompt_block import render_system_block
from agent_plugins.memory.running_invocations import enclosing
from agent_plugins.strands.attached import AttachedAgents
from agent_plugins.strands.conversation import AgentConversation, section_for_member
from agent_plugins.strands.guarding.hanging_tools import run_tools_in_daemon_threads
from agent_plugins.strands.held_turns import has_guardrail
from agent_plugins.strands.identity import SessionResolver
from agent_plugins.strands.memory_replies import memory_call_ids
from agent_plugins.strands.messages import text_of, turn_from
from agent_plugins.strands.prompt_block import append_to_last_message, append_to_system_prompt
from agent_plugins.strands.running_agents import RunningAgent, running
from agent_plugins.telemetry import Injection, injection
from mcp_memory_server import MemoryServerError, NewTurn

LONGEST_GOAL = 200
LONGEST_WORDS = 2_000
MOST_COMPARED = 20_000
"""In characters at the end of the conversation: what they contain is not repeated in the prompt block."""

Next = Callable[[AgentStreamContext], AsyncGenerator[Any, None]]

logger = logging.getLogger(__name__)


class AgentEvents:
    """Saves messages and adds the prompt block. A failure of the memory is never raised: that would end the agent."""

    def __init__(
        self,
        sessions: SessionResolver,
        agents: AttachedAgents,
        task_seconds: float | None,
        *,
        preferences_in_system_prompt: bool = False,
    ) -> None:
        self._sessions = sessions
        self._agents = agents
        self._task_seconds = task_seconds
        self._in_system_prompt = preferences_in_system_prompt

    def watch(self, agent: Agent) -> None:
        """Register the handlers on an agent."""
        agent.add_middleware(AgentStreamStage, self.invoked)
        agent.add_middleware(InvokeModelStage.Input, self.inject)
        agent.add_hook(self.message_added, MessageAddedEvent)
        agent.add_hook(self.model_call_begins, BeforeModelCallEvent)
        agent.add_hook(self.model_call_ended, AfterModelCallEvent)

    async def invoked(self, context: AgentStreamContext, next_fn: Next) -> AsyncGenerator[Any, None]:
        """Run an invocation for its user: from before its first message is added until all are saved.

        Raises:
            ConcurrencyException: The agent is answering in another conversation.
        """
        run_tools_in_daemon_threads()
        attached, now = self._agents.of(context.agent), self._running(context)
        agent = cast("Agent", context.agent)
        attached.enter(agent, now.scope, keep_messages=now.is_prepared)
        try:
            await self._begin(now, context, attached.conversation)
            async for event in now.steps(next_fn(context)):
                yield event
        finally:
            now.is_over = True
            attached.leave()
            _release(now, agent.name)
            await _end(now)
            if now.conversation is not None and now.session is not None:
                now.conversation.end(now.session)

    async def inject(self, context: InvokeModelContext) -> InvokeModelContext:
        """Append the prompt block, for this one call of the model."""
        with injection(context.agent.name) as injected:
            return await self._inject(context, injected)

    async def _inject(self, context: InvokeModelContext, injected: Injection) -> InvokeModelContext:
        now = running(context.agent)
        if now is None or now.session is None:
            return append_to_last_message(context, injected.add(self._sessions.no_user_block()))
        always = await now.session.load_always() if self._in_system_prompt else None
        if now.conversation is not None:
            now.earlier = await now.conversation.section(cast("Agent", context.agent), now.session)
        is_fresh, now.is_fresh = now.is_fresh, False
        block = await now.session.context(
            context.agent.name,
            now.earlier,
            words=now.outermost.words,
            said=text_of(context.messages, MOST_COMPARED),
            always=always,
            begins=now.begins,
            is_fresh=is_fresh,
        )
        if always is not None:
            context = append_to_system_prompt(context, injected.add(render_system_block(always)))
        return append_to_last_message(context, injected.add(block))

    def model_call_begins(self, event: BeforeModelCallEvent) -> None:
        """Note that the prompt block is in the input of the model from here on."""
        if (now := running(event.agent)) is not None:
            now.is_asking_model = True

    def model_call_ended(self, event: AfterModelCallEvent) -> None:
        """Note that the call of the model is over."""
        if (now := running(event.agent)) is not None:
            now.is_asking_model = False

    async def message_added(self, event: MessageAddedEvent[Any]) -> None:
        """Begin to save a message of an invocation, once, under its tracking id.

        What a guardrail may redact is held until the model has answered.
        """
        now, agent, message = running(event.agent), event.agent, event.message
        if now is None or now.session is None:
            return
        if message["role"] == "assistant":
            _release(now, agent.name)
        if not now.should_save(message):
            return
        # In a Swarm or a Graph several agents share one conversation.
        speaks_as = agent.name if not now.is_outermost and message["role"] == "assistant" else None
        replies = memory_call_ids(agent, message)

        def make() -> NewTurn | None:
            return _turn(message, agent.name, speaks_as=speaks_as, without_answers=replies)

        is_held = now.has_guardrail and message["role"] == "user"
        now.turns.add(make, message.get("tracking_id") or uuid4().hex, until=now if is_held else None)

    def _running(self, context: AgentStreamContext) -> RunningAgent:
        session = self._sessions.find(context.invocation_state)
        scope = None if session is None else session.scope
        outer = enclosing(scope)
        answers_user = outer is None or outer.lets_answer(context.agent)
        return RunningAgent(
            scope=scope,
            outer=outer,
            answers_user=answers_user,
            agent=ref(context.agent),
            session=session,
            has_guardrail=has_guardrail(getattr(context.agent, "model", None)),
            words=text_of(context.messages, LONGEST_WORDS),
        )

    async def _begin(self, now: RunningAgent, context: AgentStreamContext, conversation: AgentConversation) -> None:
        if now.session is None:
            return
        agent = cast("Agent", context.agent)
        if now.is_outermost:
            await now.session.coordinator.refresh()
            now.is_fresh = True
            await conversation.begin(agent, now.session)
            now.conversation, now.begins = conversation, conversation.is_new
            await now.session.turn_begins(_goal(now.words), seconds=self._task_seconds)
        elif not now.is_prepared:
            now.earlier, now.begins = await section_for_member(agent, now.session)


def _turn(message: Message, agent: str, **more: Any) -> NewTurn | None:
    try:
        return turn_from(message, agent, **more)
    except MemoryServerError as error:
        logger.warning("a message cannot be saved: %s", error)
        return None


def _release(now: RunningAgent, agent: str) -> None:
    """Save what this agent was told, and the task of its team, as its guardrail has left them."""
    redacted = now.redacted_task()
    turn = None if redacted is None else _turn(redacted, agent)
    if turn is not None:
        now.turns.replace(now.outermost.id, turn)
    now.turns.release(now)
    if now.has_guardrail:
        now.turns.release(now.outermost)


async def _end(now: RunningAgent) -> None:
    """Count the turn, and wait until its messages are saved: an answer of the agent acknowledges them."""
    if now.session is None:
        return
    if now.is_outermost:
        await asyncio.gather(now.wait_until_saved(), now.session.turn_ended(now.id))
        now.session.learn(now.own_turns.saved)
    else:
        await now.wait_until_saved()


def _goal(words: str) -> str:
    return " ".join(words.split())[:LONGEST_GOAL] or "answer the user"
