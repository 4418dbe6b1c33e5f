"""Summaries by a model of Anthropic."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import timedelta
from threading import Lock

import anthropic
from anthropic.types import Message

from mcp_memory_server.adapters.anthropic.failures import translated
from mcp_memory_server.domain.kernel.spending import Tokens
from mcp_memory_server.domain.summaries.material import Material
from mcp_memory_server.domain.summaries.requests import LONGEST_ANSWER, SCHEMA, Question, draft_from, question_about
from mcp_memory_server.domain.summaries.requests import most_tokens as most_tokens_of
from mcp_memory_server.errors import ModelUnavailableError
from mcp_memory_server.ports.summarizer import Drafted
from mcp_memory_server.ports.token_counter import TokenCounter

DEADLINE = timedelta(seconds=30)
"""The deadline of one summary, retries included."""
SENT = 2
"""How often a request is sent that is refused at once. The client waits as long as the reply asks for."""
AT_ONCE = 8


def open_anthropic(
    model: str, *, count: TokenCounter, endpoint: str | None = None, deadline: timedelta = DEADLINE
) -> "AnthropicSummarizer":
    """Return the summarizer, without a request. The key is found by Anthropic's client."""

    def connect() -> anthropic.Anthropic:
        return anthropic.Anthropic(base_url=endpoint, timeout=deadline.total_seconds() / SENT, max_retries=SENT - 1)

    return AnthropicSummarizer(model, connect, count, deadline)


class AnthropicSummarizer:
    """Answers the port. The blocking client is called from threads: its asynchronous form belongs to one event loop."""

    def __init__(
        self, model: str, connect: Callable[[], anthropic.Anthropic], count: TokenCounter, deadline: timedelta
    ) -> None:
        self._model = model
        self._connect = connect
        self._count = count
        self._deadline = deadline.total_seconds()
        self._threads = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="anthropic")
        self._connecting = Lock()
        self._client: anthropic.Anthropic | None = None

    @property
    def name(self) -> str:
        """See the port."""
        return f"anthropic/{self._model}"

    def most_tokens(self, material: Material) -> Tokens:
        """See the port."""
        return most_tokens_of(material, self._count)

    async def summarize(self, material: Material) -> Drafted:
        """See the port."""
        message = await self._answer(question_about(material))
        used = Tokens(message.usage.input_tokens, message.usage.output_tokens)
        text = "".join(block.text for block in message.content if block.type == "text")
        return Drafted(draft_from(text, material), used)

    async def close(self) -> None:
        """See the port. It does not wait for a request that hangs."""
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.to_thread(self._let_go), self._deadline)

    async def _answer(self, question: Question) -> Message:
        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.wrap_future(self._threads.submit(self._ask, question))
        except TimeoutError as error:
            raise ModelUnavailableError(f"{self.name} did not answer within {self._deadline:g} s") from error
        except (anthropic.AnthropicError, TypeError) as error:
            raise translated(error, self.name) from error
        except (AttributeError, ValueError, RuntimeError) as error:
            # The client does not check the shape of a reply.
            raise ModelUnavailableError(f"{self.name} returned an unreadable reply") from error

    def _ask(self, question: Question) -> Message:
        message = self._made().messages.create(
            model=self._model,
            max_tokens=LONGEST_ANSWER,
            system=question.system,
            messages=[{"role": "user", "content": question.text}],
            output_config={"effort": "low", "format": {"type": "json_schema", "schema": dict(SCHEMA)}},
        )
        if not isinstance(message.usage.input_tokens, int) or not isinstance(message.content, list):
            raise ValueError("no message")  # noqa: TRY004 - what came, not what was passed
        return message

    def _made(self) -> anthropic.Anthropic:
        with self._connecting:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _let_go(self) -> None:
        self._threads.shutdown()
        client, self._client = self._client, None
        if client is not None:
            client.close()
