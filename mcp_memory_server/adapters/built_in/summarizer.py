"""Summaries without a model: nothing leaves the process, nothing is spent, and equal input gives equal output."""

from mcp_memory_server.domain.kernel.spending import Tokens
from mcp_memory_server.domain.summaries.extracts import extract
from mcp_memory_server.domain.summaries.material import Material
from mcp_memory_server.domain.summaries.summary import BUILT_IN
from mcp_memory_server.ports.summarizer import Drafted


class BuiltInSummarizer:
    """Answers the port by choosing sentences."""

    @property
    def name(self) -> str:
        """See the port."""
        return BUILT_IN

    def most_tokens(self, material: Material) -> Tokens:  # noqa: ARG002
        """See the port."""
        return Tokens()

    async def summarize(self, material: Material) -> Drafted:
        """See the port."""
        return Drafted(extract(material), Tokens())

    async def close(self) -> None:
        """See the port."""
