"""Chats of Agent Squad, one item a message, in the same table as the memory."""

import logging
from collections.abc import Sequence
from uuid import uuid4

from agent_squad.storage import ChatStorage
from agent_squad.types import ConversationMessage

from agent_plugins.agent_squad.histories import ASSISTANT, in_words, well_formed
from agent_plugins.agent_squad.messages import Said, said_by, said_in, turn_from
from agent_plugins.memory.agent_memory import AgentMemory
from agent_plugins.memory.shared_memory import Source, shared_memory
from mcp_memory_server import Memory, MemoryServerError, Scope, Turn, View

MAX_MESSAGES = 100
"""What Agent Squad keeps of a chat with an agent. Here all of it is kept, and so many are handed out."""
READ_AT_ONCE = 100
MOST_PAGES = 50

logger = logging.getLogger(__name__)


class MemoryChatStorage(ChatStorage):
    """Appends messages and never rewrites them: writers at once lose nothing, and the order is that of time.

    All agents of a session share one conversation, in which each has its own chat. What is handed out is a history that
    a model accepts. Used from any thread and any event loop. What cannot be saved now is saved with the next message,
    and what cannot be read is left out: neither ends a request.
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
        max_history_size: int | None = None,  # noqa: ARG002 - nothing is cut off here
    ) -> bool:
        """Append a message; tell whether it is kept. One without content is nothing to keep."""
        try:
            scope, turn = Scope(user_id, session_id), turn_from(said_in(new_message), agent_id)
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
        """Append messages in their order; tell whether all of them are kept."""
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
        return [said.to_message() for said in well_formed([said_by(turn) for turn in turns], most)]

    async def fetch_all_chats(self, user_id: str, session_id: str) -> list[ConversationMessage]:
        """Return the newest messages with all agents, in words; before those of an agent stands which one it is."""
        turns = await self._newest(Scope(user_id, session_id), self._max_messages)
        history = well_formed(in_words(_attributed(turn) for turn in turns), self._max_messages)
        return [said.to_message() for said in in_words(history)]

    async def _newest(self, scope: Scope, most: int, agent: str | None = None) -> list[Turn]:
        try:
            return await self._memory.ask(lambda memory: _newest(memory, scope, most, agent))
        except MemoryServerError as error:
            logger.warning("an agent works without its history: %s", error)
            return []


async def _newest(memory: Memory, scope: Scope, most: int, agent: str | None) -> list[Turn]:
    """Page back until there are enough turns of the agent: others may have spoken in between."""
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


def _attributed(turn: Turn) -> Said:
    said = said_by(turn)
    if said.role != ASSISTANT or not (text := said.text()):
        return said
    return Said(said.role, ({"text": f"[{turn.agent}] {text}"},))
