"""The invocation that is running here, in a context variable: whose it is, and who wrote its input.

Frameworks share agents and teams between invocations, and do not pass the caller's state to an agent that is called as
a tool. So what belongs to one invocation is in one value, which its own context refers to, and in no attribute of an
object that another invocation could reach.
"""

from collections.abc import AsyncGenerator, AsyncIterable, Generator
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from mcp_memory_server import Scope

T = TypeVar("T")


@dataclass(eq=False, kw_only=True)
class Running:
    """One invocation of an agent or of a team, such as a Swarm. Without a scope, no user was named."""

    scope: Scope | None
    outer: "Running | None" = None
    """The invocation inside of which this one was begun."""
    answers_user: bool = True
    """Whether its words are part of the conversation with the user. Those of an agent called as a tool are not."""
    members: AbstractSet[object] = frozenset()
    """The agents of a team, which answer the user together."""
    prepared: AbstractSet[object] = frozenset()
    """Agents inside of this one whose messages it sets before it asks them."""
    is_over: bool = False

    @property
    def is_outermost(self) -> bool:
        """Whether its input are words of the user, and not of another agent."""
        return self.outer is None

    def lets_answer(self, agent: object) -> bool:
        """Return whether an agent that is invoked inside of this invocation answers the user too."""
        return self.answers_user and agent in self.members

    @contextmanager
    def as_current(self) -> Generator[None]:
        """Make this the current invocation while the block runs."""
        token = _innermost.set(self)
        try:
            yield
        finally:
            _innermost.reset(token)

    async def steps(self, stream: AsyncIterable[T]) -> AsyncGenerator[T, None]:
        """Yield the items of a stream. This is the current invocation while an item is made, not while it is read.

        So a reader that stops in the middle leaves nothing behind in its own context.
        """
        items = aiter(stream)
        try:
            while True:
                with self.as_current():
                    try:
                        item = await anext(items)
                    except StopAsyncIteration:
                        return
                yield item
        finally:
            close: Any = getattr(items, "aclose", None)
            if close is not None:
                with self.as_current():
                    await close()


_innermost: ContextVar[Running | None] = ContextVar("agent_plugins_running", default=None)


def current() -> Running | None:
    """Return the innermost invocation that is running here.

    A task that was started in an invocation may outlive it, and serve others: what is over is passed over.
    """
    found = _innermost.get()
    while found is not None and found.is_over:
        found = found.outer
    return found


def enclosing(scope: Scope | None) -> Running | None:
    """Return the invocation inside of which one for this scope begins; None if the scope is of another user.

    A program may call an agent for another user from anywhere; that is a conversation of its own.
    """
    outer = current()
    if outer is None or outer.scope is None or scope is None or outer.scope.user_id == scope.user_id:
        return outer
    return None
