"""For whom an agent works right now. Agent Squad tells its tools nothing about the user, so they look here."""

from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from agent_plugins.memory.agent_sessions import AgentSession

T = TypeVar("T")


@dataclass(frozen=True)
class Current:
    """An agent at work, and the session that it works in."""

    session: AgentSession
    agent: str


_current: ContextVar[Current | None] = ContextVar("agent_squad_current", default=None)


def current() -> Current | None:
    """Return who is at work, None outside of any agent with a memory."""
    return _current.get()


@contextmanager
def working(now: Current) -> Iterator[None]:
    """Let tools see who is at work, for as long as the block runs."""
    token = _current.set(now)
    try:
        yield
    finally:
        _current.reset(token)


async def working_through(now: Current, stream: AsyncIterable[T]) -> AsyncIterator[T]:
    """Yield what an agent streams. Tools see who is at work only while it works, not while somebody else reads."""
    chunks = aiter(stream)
    while True:
        with working(now):
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                return
        yield chunk
