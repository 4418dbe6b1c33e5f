"""The user and session of an invocation: named by the program that calls the agent, never by the model."""

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import uuid4, uuid5

from agent_plugins.argument_checks import check_type
from agent_plugins.memory.arguments import named
from agent_plugins.memory.prompt_block import PromptSection, render_prompt_block
from agent_plugins.memory.running_invocations import current
from agent_plugins.memory.shared_sessions import AgentSession, AgentSessions
from agent_plugins.strands.running_agents import running
from mcp_memory_server import (
    EndedSession,
    InvalidRequestError,
    MemoryServerError,
    MemoryTool,
    Scope,
    Status,
    error_reply,
)

INVOCATION_KEY = "mcp_memory"
"""Our only key in ``invocation_state``, a dictionary that all nodes, hooks and tools share."""

logger = logging.getLogger(__name__)


class Invoked(Protocol):
    """An event or a context of Strands that has an agent and an invocation state."""

    @property
    def agent(self) -> Any:
        """The invoked agent."""
        ...

    @property
    def invocation_state(self) -> dict[str, Any]:
        """The dictionary that the caller passed."""
        ...


def for_user(user_id: str | None = None, session_id: str | None = None, **old_names: str | None) -> dict[str, Any]:
    """Return an ``invocation_state`` that names the user and session of this call of an agent, a Swarm or a Graph.

    agent("Where is my order?", invocation_state=for_user("ana", "chat-7"))
    """
    user_id, session_id = named(user_id, session_id, old_names)
    if user_id is None:
        raise InvalidRequestError("for_user(…) needs a user_id, for example for_user('ana', 'chat-7')")
    return {INVOCATION_KEY: {"user_id": user_id, "session_id": session_id}}


class Identity:
    """Finds the scope of an invocation.

    It is in the invocation state; else it is that of the invocation inside of which this one was begun; else it is in
    the arguments of the plugin.
    """

    def __init__(self, user_id: str | None, session_id: str | None) -> None:
        self._user_id = user_id
        self._session_id = session_id
        self._own = uuid4()
        self._ended: Counter[str] = Counter()

    def scope(self, invocation_state: Mapping[str, Any]) -> Scope:
        """Return the user and session of the invocation.

        Raises:
            InvalidRequestError: No user was named, or the invocation state is malformed.
        """
        user_id, session_id = _named_in(invocation_state)
        now = current()
        outer = None if now is None else now.scope
        if outer is not None and user_id in (None, outer.user_id):
            return Scope(outer.user_id, session_id or outer.session_id)
        user_id, session_id = user_id or self._user_id, session_id or self._session_id
        if user_id is None:
            raise InvalidRequestError(
                "nobody said whose memory this is: make the plugin with MemoryPlugin(user_id=…), "
                "or call the agent with invocation_state=for_user(…)"
            )
        return Scope(user_id, session_id or self._own_session(user_id))

    def ended(self, scope: Scope) -> None:
        """Begin another default session, if this was the one of the user."""
        if scope.session_id == self._own_session(scope.user_id):
            self._ended[scope.user_id] += 1

    def _own_session(self, user_id: str) -> str:
        """Return a default session: the same one for a user until it is ended, or this plugin is gone."""
        return uuid5(self._own, f"{self._ended[user_id]} {user_id}").hex


def _named_in(invocation_state: Mapping[str, Any]) -> tuple[str | None, str | None]:
    found = invocation_state.get(INVOCATION_KEY) or {}
    if not isinstance(found, Mapping):  # for example a user id alone
        raise InvalidRequestError(f"invocation_state[{INVOCATION_KEY!r}] must be made with for_user(…), got {found!r}")
    old_names = {name: found[name] for name in ("user", "session") if name in found}
    return named(found.get("user_id"), found.get("session_id"), old_names)


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
        check_type("invocation_state", invocation_state, Mapping, "made with for_user('ana', 'chat-7')")
        return self._sessions.of(self._identity.scope(invocation_state))

    async def end(
        self, invocation_state: Mapping[str, Any], summary: str | None, open_questions: Sequence[str]
    ) -> EndedSession:
        """End the session.

        Raises:
            InvalidRequestError: No user was named.
            UnavailableError: The memory did not answer.
        """
        scope = self._identity.scope(invocation_state)
        ended = await self._sessions.end(scope, summary=summary, open_questions=open_questions)
        self._identity.ended(scope)
        return ended

    def of(self, invoked: Invoked) -> AgentSession | None:
        """Return the session of an event, None if no user was named."""
        now = running(invoked.agent)
        return self.find(invoked.invocation_state) if now is None else now.session

    def find(self, invocation_state: Mapping[str, Any]) -> AgentSession | None:
        """Return the session of an invocation state, None if no user was named."""
        try:
            return self.resolve(invocation_state)
        except InvalidRequestError as error:
            logger.warning("an agent works without a memory: %s", error)
            return None

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
