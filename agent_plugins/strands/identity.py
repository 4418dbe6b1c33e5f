"""The user and session of an invocation: named by the program that calls the agent, never by the model."""

import logging
from collections.abc import Mapping
from typing import Any, Protocol
from uuid import uuid4, uuid5

from agent_plugins.memory.agent_memory import PromptSection
from agent_plugins.memory.agent_sessions import AgentSession, AgentSessions
from agent_plugins.memory.prompt_block import render_prompt_block
from mcp_memory_server import InvalidRequestError, MemoryServerError, MemoryTool, Scope, Status, error_reply

INVOCATION_KEY = "mcp_memory"
"""Our only key in ``invocation_state``, a dictionary that all nodes, hooks and tools share."""

logger = logging.getLogger(__name__)


class Invoked(Protocol):
    """An event or a context of Strands that has an invocation state."""

    @property
    def invocation_state(self) -> dict[str, Any]:
        """The dictionary that the caller passed."""
        ...


def for_user(user: str, session: str | None = None) -> dict[str, Any]:
    """Return an ``invocation_state`` that names the user and session of this call of an agent, a Swarm or a Graph.

    agent("Where is my order?", invocation_state=for_user("ana", "chat-7"))
    """
    Scope(user, session)  # raises for an invalid name here, where the developer sees it
    return {INVOCATION_KEY: {"user": user, "session": session}}


class Identity:
    """Finds the scope of an invocation: from its invocation state, else from the arguments of the plugin."""

    def __init__(self, user: str | None, session: str | None) -> None:
        self._user = user
        self._session = session
        self._own = uuid4()
        if user is not None:
            Scope(user, session)  # raises for an invalid name here, where the developer sees it

    @property
    def has_user(self) -> bool:
        """Whether there is a default user."""
        return self._user is not None

    def scope(self, invocation_state: Mapping[str, Any]) -> Scope:
        """Return the user and session of the invocation.

        Raises:
            InvalidRequestError: No user was named, or the invocation state is malformed.
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
        """Return a default session: the same one for a user as long as this plugin lives."""
        return uuid5(self._own, user).hex


class SessionResolver:
    """Finds the session of an invocation. Without a user, agents go on without a memory."""

    def __init__(self, identity: Identity, sessions: AgentSessions) -> None:
        self._identity = identity
        self._sessions = sessions

    def resolve(self, invocation_state: Mapping[str, Any]) -> AgentSession:
        """Return the session.

        Raises:
            InvalidRequestError: No user was named.
        """
        return self._sessions.of(self._identity.scope(invocation_state))

    def of(self, invoked: Invoked) -> AgentSession | None:
        """Return the session of an event, None if no user was named."""
        return self.find(invoked.invocation_state)

    def find(self, invocation_state: Mapping[str, Any]) -> AgentSession | None:
        """Return the session of an invocation state, None if no user was named."""
        try:
            return self.resolve(invocation_state)
        except InvalidRequestError as error:
            logger.warning("an agent works without a memory: %s", error)
            return None

    def default_session(self) -> AgentSession | None:
        """Return the session for events outside of any invocation, None without a default user."""
        return self.find({}) if self._identity.has_user else None

    def no_user_block(self) -> str:
        """Return the prompt block for an invocation without a user."""
        return render_prompt_block(
            PromptSection(Status.UNAVAILABLE, missing=("whose memory this is: nobody was named",)), None, None
        )

    async def answer(
        self, tool: MemoryTool, invocation_state: Mapping[str, Any], arguments: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Call a memory tool for the user of the invocation."""
        try:
            session = self.resolve(invocation_state)
        except MemoryServerError as error:
            return error_reply(error)
        return await session.memory.use(tool, session.scope, arguments)
