"""Summarizing: what is left of a conversation when it is over."""

from dataclasses import dataclass
from typing import Protocol

from mcp_memory_server.domain.kernel.spending import Tokens
from mcp_memory_server.domain.summaries.material import Material
from mcp_memory_server.domain.summaries.summary import Draft


@dataclass(frozen=True)
class Drafted:
    """What came, and what it took. Without a draft, what came was no summary; it cost as much."""

    draft: Draft | None
    used: Tokens


class Summarizer(Protocol):
    """Sums up conversations. What is said in them is data: nothing in it changes what the summarizer does.

    A draft has at least one sentence of what was discussed if anything was said. Each lesson names a turn of the user,
    and says what the user said there. A method may be awaited from any event loop and never blocks it for long.
    """

    @property
    def name(self) -> str:
        """What made the summary, as the summary says it: ``built-in``, ``anthropic/claude-haiku-5-5`` …"""
        ...

    def most_tokens(self, material: Material) -> Tokens:
        """Return the most that one attempt can take. Nothing for what costs nothing."""
        ...

    async def summarize(self, material: Material) -> Drafted:
        """Sum it up, in one attempt.

        Raises:
            ModelBusyError: The model refused before it did anything. Nothing was spent.
            ModelUnavailableError: There was no answer in time. Something may have been spent.
            ConfigurationError: The model cannot be asked with these settings.
        """
        ...

    async def close(self) -> None:
        """Let go of what is open. Closing twice is harmless."""
        ...
