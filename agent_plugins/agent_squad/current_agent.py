"""The running agent and its session, in a context variable: Agent Squad passes no user to its tools."""

from collections.abc import AsyncIterable, AsyncIterator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from agent_plugins.memory.agent_sessions import AgentSession

T = TypeVar("T")


@dataclass(frozen=True)
class CurrentAgent:
    """A running agent, and its session."""

    session: AgentSession
    agent: str


_current: ContextVar[CurrentAgent | None] = ContextVar("agent_squad_current", default=None)


def current() -> CurrentAgent | None:
    """Return the running agent, None outside of any agent with a memory."""
    return _current.get()


@contextmanager
def as_current(now: CurrentAgent) -> Iterator[None]:
    """Set the running agent while the block runs."""
    token = _current.set(now)
    try:
        yield
    finally:
        _current.reset(token)


async def stream_as_current(now: CurrentAgent, stream: AsyncIterable[T]) -> AsyncIterator[T]:
    """Yield the chunks of a streaming agent, which is current only while it computes one, not while its reader runs."""
    chunks = aiter(stream)
    while True:
        with as_current(now):
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                return
        yield chunk
