"""Whose memory an invocation is about: said by the program that calls the agent, never by the model."""

import logging
from collections.abc import Mapping
from typing import Any, Protocol
from uuid import uuid4, uuid5

from agent_plugins.memory.agent_memory import Told
from agent_plugins.memory.agent_sessions import AgentSession, AgentSessions
from agent_plugins.memory.prompt_block import injected
from mcp_memory_server import InvalidRequestError, MemoryServerError, MemoryTool, Scope, Status, error_reply

INVOCATION_KEY = "mcp_memory"
"""The one key of ``invocation_state`` that is ours. Strands shares that dictionary by all nodes, hooks and tools."""

logger = logging.getLogger(__name__)


class Invoked(Protocol):
    """An event or a context of Strands that knows the state of its invocation."""

    @property
    def invocation_state(self) -> dict[str, Any]:
        """What the caller handed in."""
        ...


def for_user(user: str, session: str | None = None) -> dict[str, Any]:
    """Return an ``invocation_state`` that says for whom this call of an agent, a Swarm or a Graph is made.

    agent("Where is my order?", invocation_state=for_user("ana", "chat-7"))
    """
    Scope(user, session)  # a name that cannot be one is refused here, where the developer sees it
    return {INVOCATION_KEY: {"user": user, "session": session}}


class Identity:
    """Names the owner of an invocation: what the invocation says, else what the plugin was made with."""

    def __init__(self, user: str | None, session: str | None) -> None:
        self._user = user
        self._session = session
        self._own = uuid4()
        if user is not None:
            Scope(user, session)  # a name that cannot be one is refused here, where the developer sees it

    @property
    def has_user(self) -> bool:
        """Whether there is a user for calls that do not say."""
        return self._user is not None

    def scope(self, invocation_state: Mapping[str, Any]) -> Scope:
        """Return whose memory this invocation is about, and in which session.

        Raises:
            InvalidRequestError: Nobody was named, or not in a form that can be understood.
        """
        said = invocation_state.get(INVOCATION_KEY) or {}
        if not isinstance(said, Mapping):
            raise InvalidRequestError(f"invocation_state[{INVOCATION_KEY!r}] must be made with for_user(…)")
        user, session = said.get("user") or self._user, said.get("session") or self._session
        if session is not None and not isinstance(session, str):
            raise InvalidRequestError(f"a session is named by a text, got a {type(session).__name__}")
        if not isinstance(user, str):
            raise InvalidRequestError(
                "nobody said whose memory this is: make the plugin with MemoryPlugin(user=…), "
                "or call the agent with invocation_state=for_user(…)"
            )
        return Scope(user, session or self._own_session(user))

    def _own_session(self, user: str) -> str:
        """Return a session for those who named none: the same one for a user as long as this plugin lives."""
        return uuid5(self._own, user).hex


class NamedSessions:
    """The sessions that invocations say they belong to. Where nobody is named, agents go on without a memory."""

    def __init__(self, identity: Identity, sessions: AgentSessions) -> None:
        self._identity = identity
        self._sessions = sessions

    def named_in(self, invocation_state: Mapping[str, Any]) -> AgentSession:
        """Return the session.

        Raises:
            InvalidRequestError: Nobody was named.
        """
        return self._sessions.of(self._identity.scope(invocation_state))

    def of(self, invoked: Invoked) -> AgentSession | None:
        """Return the session that an event belongs to, None if nobody was named."""
        return self.of_state(invoked.invocation_state)

    def of_state(self, invocation_state: Mapping[str, Any]) -> AgentSession | None:
        """Return the session that an invocation belongs to, None if nobody was named."""
        try:
            return self.named_in(invocation_state)
        except InvalidRequestError as error:
            logger.warning("an agent works without a memory: %s", error)
            return None

    def by_default(self) -> AgentSession | None:
        """Return the session of what happens outside of any invocation."""
        return self.of_state({}) if self._identity.has_user else None

    def nobody_named(self) -> str:
        """Return what a model is told when nobody said whose memory it is."""
        return injected(Told(Status.UNAVAILABLE, missing=("whose memory this is: nobody was named",)), None, None)

    async def answer(
        self, tool: MemoryTool, invocation_state: Mapping[str, Any], arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Answer a memory tool for whoever the invocation belongs to."""
        try:
            session = self.named_in(invocation_state)
        except MemoryServerError as error:
            return error_reply(error)
        return await session.memory.use(tool, session.scope, arguments)
