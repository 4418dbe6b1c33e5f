"""The memory tool of the Anthropic SDK, backed by this memory."""

import asyncio
from collections.abc import Awaitable, Callable

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaCacheControlEphemeralParam,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from agent_plugins.memory.file_commands import FileCommands
from agent_plugins.memory.memory_files import MemoryFileError
from agent_plugins.memory.shared_memory import SharedMemory, Source, shared_memory
from agent_plugins.state.background_loop import BACKGROUND
from mcp_memory_server import MemoryServerError, Scope

SECONDS = 10.0
"""How long a command may take."""

Command = Callable[[FileCommands], Awaitable[str]]


async def _carried_out(shared: SharedMemory, scope: Scope, command: Command) -> str:
    """Return the reply of a command. Every failure becomes an error that Claude reads."""
    try:
        async with asyncio.timeout(SECONDS):
            return await command(FileCommands(await shared.get(), scope))
    except MemoryFileError as error:
        raise ToolError(str(error)) from error
    except TimeoutError as error:
        raise ToolError("The memory did not answer in time. Go on without it, and try again later.") from error
    except MemoryServerError as error:
        raise ToolError(f"The memory cannot be used: {error}") from error


class MemoryTool(BetaAbstractMemoryTool):
    """Claude's memory directory for one user, for `Anthropic`.

    client.beta.messages.run_tools(model=…, messages=[…], tools=[MemoryTool("ana")])
    """

    def __init__(
        self, user_id: str, *, memory: Source = None, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._scope = Scope(user_id)
        self._shared = shared_memory(memory)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a file or a folder."""
        return self._run(lambda files: files.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        return self._run(lambda files: files.create(command.path, command.file_text))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace text in a file."""
        return self._run(lambda files: files.str_replace(command.path, command.old_str, command.new_str))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text into a file."""
        return self._run(lambda files: files.insert(command.path, command.insert_line, command.insert_text))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return self._run(lambda files: files.delete(command.path))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or a folder."""
        return self._run(lambda files: files.rename(command.old_path, command.new_path))

    def clear_all_memory(self) -> str:
        """Delete all files. What is known otherwise stays."""
        return self._run(lambda files: files.clear())

    def _run(self, command: Command) -> str:
        return BACKGROUND.wait_for(BACKGROUND.submit(_carried_out(self._shared, self._scope, command)))


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """Claude's memory directory for one user, for `AsyncAnthropic`."""

    def __init__(
        self, user_id: str, *, memory: Source = None, cache_control: BetaCacheControlEphemeralParam | None = None
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._scope = Scope(user_id)
        self._shared = shared_memory(memory)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return a file or a folder."""
        return await self._run(lambda files: files.view(command.path, command.view_range))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        return await self._run(lambda files: files.create(command.path, command.file_text))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace text in a file."""
        return await self._run(lambda files: files.str_replace(command.path, command.old_str, command.new_str))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text into a file."""
        return await self._run(lambda files: files.insert(command.path, command.insert_line, command.insert_text))

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file or a folder."""
        return await self._run(lambda files: files.delete(command.path))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename a file or a folder."""
        return await self._run(lambda files: files.rename(command.old_path, command.new_path))

    async def clear_all_memory(self) -> str:
        """Delete all files. What is known otherwise stays."""
        return await self._run(lambda files: files.clear())

    async def _run(self, command: Command) -> str:
        return await _carried_out(self._shared, self._scope, command)
