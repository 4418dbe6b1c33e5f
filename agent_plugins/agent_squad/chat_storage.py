"""Chats of Agent Squad in the same table as the memory, one item for each message."""

import logging
from collections.abc import Sequence
from uuid import uuid4

from agent_squad.storage import ChatStorage
from agent_squad.types import ConversationMessage, TimestampedMessage

from agent_plugins.agent_squad.histories import ASSISTANT, text_only, well_formed
from agent_plugins.agent_squad.messages import ChatMessage, from_squad_message, from_turn, to_turn
from agent_plugins.agent_squad.running_agents import running
from agent_plugins.memory.agent_memory import AgentMemory
from agent_plugins.memory.shared_memory import Source, shared_memory
from mcp_memory_server import Memory, MemoryServerError, Scope, Turn, View

MAX_MESSAGES = 100
"""How many messages a fetch returns, as in Agent Squad. All of them are stored."""
READ_AT_ONCE = 100
MOST_PAGES = 50

logger = logging.getLogger(__name__)


class MemoryChatStorage(ChatStorage):
    """Appends messages and never rewrites them: concurrent writers lose nothing, and messages are in order of time.

    All agents of a session share one conversation, in which each has its own chat. A fetch returns a history that a
    model accepts. Safe to use from any thread and event loop. A message that cannot be saved is retried with the next
    one, and a history that cannot be read is empty: neither ends a request.
    """

    def __init__(self, memory: "AgentMemory | Source" = None, *, max_messages: int = MAX_MESSAGES) -> None:
        self._memory = memory if isinstance(memory, AgentMemory) else AgentMemory(shared_memory(memory))
        self._max_messages = max_messages

    async def save_chat_message(
        self,
        user_id: str,
        session_id: str,
        agent_id: str,
        new_message: ConversationMessage,
        max_history_size: int | None = None,  # noqa: ARG002 - nothing is deleted here
    ) -> bool:
        """Append a message; return whether it is saved. One without content needs no saving."""
        try:
            said, asked_by = from_squad_message(new_message), _asked_by(new_message, agent_id)
            scope, turn = Scope(user_id, session_id), to_turn(said, agent_id, asked_by=asked_by)
        except MemoryServerError as error:
            logger.warning("a message cannot be saved: %s", error)
            return False
        return turn is None or await self._memory.turns.append(scope, turn, uuid4().hex)

    async def save_chat_messages(
        self,
        user_id: str,
        session_id: str,
        agent_id: str,
        new_messages: Sequence[ConversationMessage],
        max_history_size: int | None = None,
    ) -> bool:
        """Append messages in order; return whether all of them are saved."""
        kept = [
            await self.save_chat_message(user_id, session_id, agent_id, message, max_history_size)
            for message in new_messages
        ]
        return all(kept)

    async def fetch_chat(
        self, user_id: str, session_id: str, agent_id: str, max_history_size: int | None = None
    ) -> list[ConversationMessage]:
        """Return the newest messages with an agent, as a history that a model accepts."""
        most = self._max_messages if max_history_size is None else max_history_size
        turns = await self._newest(Scope(user_id, session_id), most, agent_id)
        return [said.to_message() for said in well_formed([from_turn(turn) for turn in turns], most)]

    async def fetch_all_chats(self, user_id: str, session_id: str) -> list[ConversationMessage]:
        """Return the newest messages with all agents, as text; those of an agent begin with its name."""
        turns = await self._newest(Scope(user_id, session_id), self._max_messages)
        history = well_formed(text_only(_attributed(turn) for turn in turns), self._max_messages)
        return [said.to_message() for said in text_only(history)]

    async def _newest(self, scope: Scope, most: int, agent: str | None = None) -> list[Turn]:
        try:
            return await self._memory.ask(lambda memory: _newest(memory, scope, most, agent))
        except MemoryServerError as error:
            logger.warning("an agent works without its history: %s", error)
            return []


def _asked_by(message: ConversationMessage, agent_id: str) -> str | None:
    """Return who asked a member of a team; None if the user did.

    A supervisor saves what it asks its team, and what the team answers, with the time; a squad saves without.
    """
    if not isinstance(message, TimestampedMessage):
        return None
    now = running()
    return "supervisor" if now is None or now.agent == agent_id else now.agent


async def _newest(memory: Memory, scope: Scope, most: int, agent: str | None) -> list[Turn]:
    """Page back until there are enough turns of the agent; turns of other agents may be in between."""
    page = await memory.conversations.load(scope, turns=READ_AT_ONCE, view=View.EVERYTHING)
    found = _of(agent, page.turns)
    for _ in range(MOST_PAGES):
        if len(found) > most or page.cursor is None:
            break
        page = await memory.conversations.before(scope, page.cursor, turns=READ_AT_ONCE, view=View.EVERYTHING)
        found = [*_of(agent, page.turns), *found]
    return found


def _of(agent: str | None, turns: Sequence[Turn]) -> list[Turn]:
    return [turn for turn in turns if agent is None or turn.agent == agent]


def _attributed(turn: Turn) -> ChatMessage:
    said = from_turn(turn)
    if said.role != ASSISTANT or not (text := said.text()):
        return said
    return ChatMessage(said.role, ({"text": f"[{turn.agent}] {text}"},))
