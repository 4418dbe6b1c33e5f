"""Running invocations of Agent Squad's agents. Agent Squad passes no user to tools and retrievers."""

from dataclasses import dataclass

from agent_plugins.memory.running_invocations import Running, current
from agent_plugins.memory.shared_sessions import AgentSession


@dataclass(eq=False, kw_only=True)
class RunningSquadAgent(Running):
    """A running agent of a squad: its session, its id, and the words it was asked, without the prompt block."""

    session: AgentSession
    agent: str
    words: str


def running() -> RunningSquadAgent | None:
    """Return the running agent, None outside of any agent with a memory."""
    now = current()
    while now is not None and not isinstance(now, RunningSquadAgent):
        now = now.outer  # a Strands agent inside of it, or a tool of that
    return now
