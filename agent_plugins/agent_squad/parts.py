"""What Agent Squad's own agents keep in attributes: retrievers, tools, a team, the user of a supervisor."""

import copy
from collections.abc import Iterator
from typing import Any

from agent_squad.agents import Agent, SupervisorAgent
from agent_squad.retrievers import Retriever
from agent_squad.utils import AgentTool, AgentTools

from agent_plugins.agent_squad.running_agents import running


def agents_in(agent: Agent) -> Iterator[Agent]:
    """Yield an agent and those that it asks itself: the lead of a team, the team, the links of a chain."""
    yield agent
    inner = [getattr(agent, "lead_agent", None), getattr(agent, "wrapped", None)]
    for each in [*inner, *_list(agent, "team"), *_list(agent, "agents")]:
        if isinstance(each, Agent):
            yield from agents_in(each)


def strands_agents_in(agent: Agent) -> list[object]:
    """Return the agents of Strands that answer for this one, whose messages it sets before each request."""
    links = [agent, *_list(agent, "agents")]
    found = [getattr(each, "strands_agent", None) for each in links]
    return [each for each in found if each is not None]


def tools_of(agent: Agent) -> AgentTools | None:
    """Return the tools of an agent, if they are of a class of Agent Squad."""
    config: Any = getattr(agent, "tool_config", None)
    tools = config.get("tool") if isinstance(config, dict) else None
    return tools if isinstance(tools, AgentTools) else None


def retrieve_by_words(agent: Agent) -> None:
    """Let the retriever of an agent, or of the lead of a team, search for the words of the user."""
    for each in (agent, getattr(agent, "lead_agent", None)):
        retriever = getattr(each, "retriever", None)
        if isinstance(retriever, Retriever) and not isinstance(retriever, _ByWords):
            setattr(each, "retriever", _ByWords(retriever))  # noqa: B010 - only some agents have this attribute


class _ByWords(Retriever):
    """A retriever that is asked for the words of the user, whatever was appended to them."""

    def __init__(self, retriever: Retriever) -> None:
        super().__init__({})
        self._retriever = retriever

    def __getattr__(self, name: str) -> Any:
        return getattr(self._retriever, name)

    async def retrieve(self, text: str) -> Any:
        return await self._retriever.retrieve(_words(text))

    async def retrieve_and_combine_results(self, text: str) -> Any:
        return await self._retriever.retrieve_and_combine_results(_words(text))

    async def retrieve_and_generate(self, text: str) -> Any:
        return await self._retriever.retrieve_and_generate(_words(text))


def _words(text: str) -> str:
    now = running()
    return text if now is None or not text.startswith(now.words) else now.words


def copy_for_request(agent: Agent) -> Agent:
    """Return an agent that requests at the same moment do not share.

    A supervisor keeps the user, the session, and the conversations of its team (in the prompt of its lead) in
    attributes, so each request gets a copy of it and of its lead. Any other agent is returned as it is.
    """
    if not isinstance(agent, SupervisorAgent):
        return agent
    copied = copy.copy(agent)
    copied.lead_agent = copy.copy(agent.lead_agent)
    tools = tools_of(agent.lead_agent)
    if tools is not None:
        own = copy.copy(tools)
        own.tools = [_bound_to(copied, agent, tool) for tool in tools.tools]
        copied.supervisor_tools = own
        copied.lead_agent.tool_config = {**(agent.lead_agent.tool_config or {}), "tool": own}
    return copied


def _bound_to(copied: SupervisorAgent, original: SupervisorAgent, tool: AgentTool) -> AgentTool:
    """Return the tool; if it is a method of the supervisor, as a method of the copy."""
    function = getattr(tool.func, "__wrapped__", tool.func)
    if getattr(function, "__self__", None) is not original:
        return tool
    bound = copy.copy(tool)
    bound.func = tool._wrap_function(getattr(copied, function.__name__))  # pyright: ignore[reportPrivateUsage]
    return bound


def _list(agent: Agent, name: str) -> list[Any]:
    found = getattr(agent, name, None)
    return list(found) if isinstance(found, list | tuple) else []
