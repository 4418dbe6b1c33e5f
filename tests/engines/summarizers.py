"""A summarizer of each technology, ready for use, with the service behind it if there is one."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import timedelta

from mcp_memory_server.adapters.anthropic.summarizer import open_anthropic
from mcp_memory_server.adapters.bedrock.summarizer import open_bedrock_summarizer
from mcp_memory_server.adapters.built_in.summarizer import BuiltInSummarizer
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.ports.summarizer import Summarizer
from tests.engines.summary_models import (
    ANTHROPIC_MODEL,
    BEDROCK_MODEL,
    ModelService,
    model_service,
    of_anthropic,
    of_bedrock,
)

PATIENCE = timedelta(seconds=60)

Opening = Callable[..., AbstractAsyncContextManager[tuple[Summarizer, ModelService | None]]]


@asynccontextmanager
async def built_in(deadline: timedelta = PATIENCE) -> AsyncIterator[tuple[Summarizer, ModelService | None]]:
    yield BuiltInSummarizer(), None


@asynccontextmanager
async def anthropic(deadline: timedelta = PATIENCE) -> AsyncIterator[tuple[Summarizer, ModelService]]:
    with model_service(of_anthropic) as service:
        summarizer = open_anthropic(ANTHROPIC_MODEL, endpoint=service.endpoint, count=count_tokens, deadline=deadline)
        yield summarizer, service
        await summarizer.close()


@asynccontextmanager
async def bedrock(deadline: timedelta = PATIENCE) -> AsyncIterator[tuple[Summarizer, ModelService]]:
    with model_service(of_bedrock) as service:
        summarizer = open_bedrock_summarizer(
            BEDROCK_MODEL, endpoint=service.endpoint, count=count_tokens, deadline=deadline
        )
        yield summarizer, service
        await summarizer.close()


MODELS = {"anthropic": anthropic, "bedrock": bedrock}
SUMMARIZERS: dict[str, Opening] = {"built-in": built_in, **MODELS}
