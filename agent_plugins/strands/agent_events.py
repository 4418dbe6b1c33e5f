"""Events of a Strands agent, forwarded to its session."""

import asyncio
import logging
from collections.abc import Sequence
from typing import Any
from uuid import uuid4

from strands import Agent
from strands.hooks import AfterInvocationEvent, BeforeInvocationEvent, MessageAddedEvent
from strands.middleware import InvokeModelStage
from strands.middleware.stages import InvokeModelContext
from strands.types.content import Message

from agent_plugins.strands.attached import AttachedAgents, Running
from agent_plugins.strands.hanging_tools import run_tools_in_daemon_threads
from agent_plugins.strands.identity import SessionResolver
from agent_plugins.strands.messages import turn_from
from agent_plugins.strands.prompt_block import append_to_last_message
from mcp_memory_server import MemoryServerError

LONGEST_GOAL = 200

logger = logging.getLogger(__name__)


class AgentEvents:
    """Saves messages and adds the prompt block. No handler raises, because that would end the invocation."""

    def __init__(self, sessions: SessionResolver, agents: AttachedAgents, task_seconds: float | None) -> None:
        self._sessions = sessions
        self._agents = agents
        self._task_seconds = task_seconds

    def watch(self, agent: Agent) -> None:
        """Register the handlers on an agent."""
        agent.add_hook(self.begins, BeforeInvocationEvent)
        agent.add_hook(self.message_added, MessageAddedEvent)
        agent.add_hook(self.ended, AfterInvocationEvent)
        agent.add_middleware(InvokeModelStage.Input, self.inject)

    async def begins(self, event: BeforeInvocationEvent) -> None:
        """Find the session of the invocation; load earlier turns for an agent without a history."""
        run_tools_in_daemon_threads()
        attached = self._agents.of(event.agent)
        session = self._sessions.of(event)
        attached.running = Running(session, is_node=attached.is_node)
        if session is None:
            return
        attached.switch_to(event.agent, session.scope)
        if not event.agent.messages:
            attached.running.earlier = await session.load_history()
        if not attached.is_node:
            await session.turn_begins(_goal(event.messages or ()), seconds=self._task_seconds)

    async def inject(self, context: InvokeModelContext) -> InvokeModelContext:
        """Append the prompt block, for this one call of the model."""
        running = self._agents.of(context.agent).running
        if running is None or running.session is None:
            return append_to_last_message(context, self._sessions.no_user_block())
        return append_to_last_message(context, await running.session.context(context.agent.name, running.earlier))

    async def message_added(self, event: MessageAddedEvent[Any]) -> None:
        """Save the message, once, under its tracking id."""
        running = self._agents.of(event.agent).running
        session = self._sessions.default_session() if running is None else running.session
        is_node = running is not None and running.is_node
        if session is None or (running is not None and not running.should_save(event.message)):
            return
        # In a Swarm or a Graph several agents share one conversation.
        speaks_as = event.agent.name if is_node and event.message["role"] == "assistant" else None
        try:
            turn = turn_from(event.message, event.agent.name, speaks_as=speaks_as)
        except MemoryServerError as error:
            logger.warning("a message cannot be saved: %s", error)
            return
        if turn is None:
            return
        operation_id = event.message.get("tracking_id") or uuid4().hex
        if running is None:
            await session.memory.turns.append(session.scope, turn, operation_id)
        else:  # the model does not wait for the save; the caller of the agent does
            running.saves.append(session.memory.turns.begin_append(session.scope, turn, operation_id))

    async def ended(self, event: AfterInvocationEvent) -> None:
        """Count the turn, and wait until its messages are saved: an answer of the agent acknowledges them."""
        attached = self._agents.of(event.agent)
        running, attached.running = attached.running, None
        if running is None or running.session is None:
            return
        if running.is_node:
            await running.wait_until_saved()
        else:
            await asyncio.gather(running.wait_until_saved(), running.session.turn_ended(running.id))


def _goal(messages: Sequence[Message]) -> str:
    texts = [block["text"] for message in messages for block in message["content"] if "text" in block]
    return " ".join(" ".join(texts).split())[:LONGEST_GOAL] or "answer the user"
