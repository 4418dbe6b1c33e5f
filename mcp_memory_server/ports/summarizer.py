"""Summarizing: turn a finished conversation into a short summary."""

from dataclasses import dataclass
from typing import Protocol

from mcp_memory_server.domain.kernel.spending import Tokens
from mcp_memory_server.domain.summaries.material import Material
from mcp_memory_server.domain.summaries.summary import Draft


@dataclass(frozen=True)
class Drafted:
    """The result of an attempt and its cost. ``draft`` is None if the model's answer was unusable; it cost as much."""

    draft: Draft | None
    used: Tokens


class Summarizer(Protocol):
    """Summarizes conversations. Their content is data: nothing in it changes what the summarizer does.

    A draft has at least one sentence of what was discussed if anything was said. Each lesson names a turn of the user
    and repeats what the user said there. A method may be awaited from any event loop and never blocks it for long.
    """

    @property
    def name(self) -> str:
        """The name recorded in each summary: ``built-in``, ``anthropic/claude-haiku-5-5`` …"""
        ...

    def most_tokens(self, material: Material) -> Tokens:
        """Return the most tokens that one attempt can use; zero if it costs nothing."""
        ...

    async def summarize(self, material: Material) -> Drafted:
        """Summarize the material in one attempt.

        Raises:
            ModelBusyError: The model refused before it did anything. Nothing was spent.
            ModelUnavailableError: There was no answer in time. Something may have been spent.
            ConfigurationError: The model cannot be called with these settings.
        """
        ...

    async def close(self) -> None:
        """Release all resources. Closing twice is harmless."""
        ...
