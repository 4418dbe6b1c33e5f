"""What a Pydantic AI agent gets: the memories that fit the prompt, the five tools, and a memory of the conversation."""

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_ai import RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.run import AgentRunResult
from pydantic_ai.toolsets import FunctionToolset

from agent_plugins.memory.agent_memory import READ_SECONDS, AgentMemory
from agent_plugins.memory.agent_tools import AGENT_TOOLS
from agent_plugins.memory.prompt_block import render_prompt_block
from agent_plugins.memory.shared_memory import Source, shared_memory
from mcp_memory_server import MemoryTool, NewTurn, Role, Scope

MAX_TOKENS = 400


class MemoryCapability(AbstractCapability[Any]):
    """Memory for an agent: `Agent(model, capabilities=[MemoryCapability("ana")])`.

    ``user_id`` is the user, or a function of the run's context that returns it, for an agent that serves many users:
    ``MemoryCapability(lambda ctx: ctx.deps.user_id)``. A failure of the memory never stops a run.
    """

    def __init__(
        self,
        user_id: str | Callable[[RunContext[Any]], str],
        *,
        memory: Source = None,
        max_tokens: int = MAX_TOKENS,
        read_seconds: float = READ_SECONDS,
    ) -> None:
        self._user = user_id
        self._memory = AgentMemory(shared_memory(memory), read_seconds=read_seconds)
        self._max_tokens = max_tokens
        if isinstance(user_id, str):
            Scope(user_id)

    def get_instructions(self) -> Callable[[RunContext[Any]], Awaitable[str]]:
        """Return the function that adds what is known to the instructions of each run."""
        return self._block

    def get_toolset(self) -> FunctionToolset[Any]:
        """Return the five tools."""
        return FunctionToolset([self._tool(tool) for tool in AGENT_TOOLS])

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Store what was asked and answered."""
        answer = result.output if isinstance(result.output, str) else ""
        said = [(Role.USER, _text(ctx.prompt)), (Role.ASSISTANT, answer)]
        scope = Scope(self._scope(ctx).user_id, ctx.conversation_id or ctx.run_id)
        for role, text in said:
            if text.strip():
                self._memory.turns.add(scope, NewTurn(role, text), f"{ctx.run_id}:{role.value}")
        await self._memory.turns.flush(scope)
        return result

    async def _block(self, ctx: RunContext[Any]) -> str:
        known = await self._memory.load_relevant(
            self._scope(ctx), _text(ctx.prompt), self._max_tokens, with_handoff=True
        )
        return render_prompt_block(known, None, None)

    def _scope(self, ctx: RunContext[Any]) -> Scope:
        return Scope(self._user if isinstance(self._user, str) else self._user(ctx))

    def _tool(self, tool: MemoryTool) -> Tool[Any]:
        async def answer(ctx: RunContext[Any], **arguments: Any) -> dict[str, Any]:
            return await self._memory.use(tool, self._scope(ctx), arguments)

        return Tool.from_schema(answer, tool.name, tool.description, tool.input_schema, takes_ctx=True)


def _text(prompt: Any) -> str:
    """Return the words of a prompt, without images and other attachments."""
    if isinstance(prompt, str):
        return prompt
    return "\n".join(part for part in prompt or () if isinstance(part, str))
