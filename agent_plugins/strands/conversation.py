"""The conversation so far, in the messages of a Strands agent: after a restart, another user, or another agent.

An agent that the user speaks to gets the last turns as real messages, once. They stay in its messages for every turn
that follows, so a provider can cache them, and whatever manages the conversation treats them as any others. What is
before them, and what has left the messages since, is in a summary that each prompt block has.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from strands import Agent
from strands.types.content import Message

from agent_plugins.memory.earlier_section import not_in
from agent_plugins.memory.prompt_block import PromptSection
from agent_plugins.memory.shared_sessions import AgentSession
from agent_plugins.strands.messages import text_of
from mcp_memory_server import Role, Status, Turn

if TYPE_CHECKING:
    from strands.types.content import Role as MessageRole

SUMMARIZED_AHEAD = 8
"""So many of the oldest messages are in the summary before they leave, so that it is not made anew with each turn."""
UNSAVED = 4
"""So many of the newest messages may not be stored yet when the summary is made."""
MOST_TURNS = 200
MOST_COMPARED = 200_000
NO_ANSWER = "[no answer]"
BEFORE = "[…]"
"""Stands for the beginning of a conversation whose first message is not one of the user."""


class AgentConversation:
    """What the messages of one agent have of one conversation, and a summary of what they have not.

    It is used by one invocation at a time, as the agent is.
    """

    def __init__(self, first: int) -> None:
        """``first`` is the number of messages that the agent had from its developer."""
        self._first = first
        self._summary: str | None = None
        self._unread: tuple[Turn, ...] = ()
        self._missing: tuple[str, ...] = ()
        self._is_loaded = False
        self._is_new = False
        self._seeds: list[Message] = []
        self._turns_taken: int | None = None
        self._followed: list[Message] = []
        self._summarized: list[Message] = []

    @property
    def is_new(self) -> bool:
        """Whether nothing was said before the current turn."""
        return self._is_new

    async def begin(self, agent: Agent, session: AgentSession) -> None:
        """Add to the messages of the agent what was said without it."""
        taken = session.coordinator.state.conversation.turn_count
        if not self._is_loaded:
            self._seeds = agent.messages[: self._first]
            await self._load(agent, session)
        elif self._turns_taken is not None and taken > self._turns_taken:
            await self._catch_up(agent, session)
        else:
            self._is_new = False
        self._followed = self._followed or list(agent.messages)

    def end(self, session: AgentSession) -> None:
        """Note how many turns there were, of all agents of the session, when the invocation was over."""
        self._turns_taken = session.coordinator.state.conversation.turn_count

    async def section(self, agent: Agent, session: AgentSession) -> PromptSection:
        """Return what the messages of the agent lack."""
        if self._has_lost(agent):
            await self._summarize(agent, session)
        return session.earlier(self._summary, self._unread, self._missing)

    async def _load(self, agent: Agent, session: AgentSession) -> None:
        found = await session.load_conversation()
        self._missing = found.missing
        self._is_new = found.status is not Status.UNAVAILABLE and not found.turn_count
        if found.status is Status.UNAVAILABLE:
            return  # asked again with the next turn
        self._is_loaded, self._summary = True, found.summary
        if len(agent.messages) == self._first:
            agent.messages.extend(messages_from(found.turns, agent.name))
        else:  # another component restored messages
            self._unread = tuple(not_in(found.turns, text_of(agent.messages, MOST_COMPARED)))

    async def _catch_up(self, agent: Agent, session: AgentSession) -> None:
        """Add what was said to other agents, or to this one in another process, since its last turn."""
        found = await session.load_conversation()
        self._missing = found.missing
        own = {text for message in agent.messages[-MOST_TURNS:] if (text := text_of([message], MOST_COMPARED))}
        known = [place for place, turn in enumerate(found.turns) if turn.content in own]
        missed = found.turns[known[-1] + 1 :] if known else found.turns
        agent.messages.extend(messages_from(missed, agent.name))

    def _has_lost(self, agent: Agent) -> bool:
        """Return whether messages have left that are not in the summary."""
        there = {id(message) for message in (*agent.messages, *self._summarized, *self._seeds)}
        has_lost = any(id(message) not in there for message in self._followed)
        if not has_lost:
            self._followed = list(agent.messages)
        return has_lost

    async def _summarize(self, agent: Agent, session: AgentSession) -> None:
        seeds = {id(message) for message in self._seeds}
        spoken = [message for message in agent.messages if _is_spoken(message) and id(message) not in seeds]
        found = await session.load_conversation(min(MOST_TURNS, max(1, len(spoken) - SUMMARIZED_AHEAD - UNSAVED)))
        self._missing = found.missing
        if found.status is Status.UNAVAILABLE:
            return  # made with the next call
        self._summary, ahead = found.summary, spoken[:SUMMARIZED_AHEAD]
        last = next((place for place, one in enumerate(agent.messages) if ahead and one is ahead[-1]), -1)
        self._summarized, self._followed = agent.messages[: last + 1], list(agent.messages)


async def section_for_member(agent: Agent, session: AgentSession) -> tuple[PromptSection, bool]:
    """Return what an agent lacks whose messages are not the conversation: a member of a team, or an agent as a tool.

    And whether nothing was said before.
    """
    found = await session.load_conversation()
    turns = not_in(found.turns, text_of(agent.messages, MOST_COMPARED))
    is_new = found.status is not Status.UNAVAILABLE and not found.turn_count
    return session.earlier(found.summary, turns, found.missing), is_new


def messages_from(turns: Sequence[Turn], agent: str) -> list[Message]:
    """Return turns as messages that a model accepts: user and assistant alternate, and the user begins.

    What another agent said begins with its name.
    """
    messages: list[Message] = []
    for turn in turns:
        is_by_user = turn.role is Role.USER
        speaker = turn.speaker or turn.agent or agent
        text = turn.content if is_by_user or speaker == agent else f"[{speaker}] {turn.content}"
        _append(messages, "user" if is_by_user else "assistant", text)
    if messages and messages[0]["role"] == "assistant":
        messages.insert(0, {"role": "user", "content": [{"text": BEFORE}]})
    if messages and messages[-1]["role"] == "user":
        _append(messages, "assistant", NO_ANSWER)
    return messages


def _append(messages: list[Message], role: "MessageRole", text: str) -> None:
    if messages and messages[-1]["role"] == role:
        messages[-1]["content"].append({"text": text})
    else:
        messages.append({"role": role, "content": [{"text": text}]})


def _is_spoken(message: Message) -> bool:
    return any("text" in block for block in cast("Any", message["content"]))
