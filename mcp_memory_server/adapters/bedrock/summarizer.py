"""Summaries by a model of Bedrock, through its `converse` operation."""

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from datetime import timedelta
from typing import Any

from mcp_memory_server.adapters.aws.account_failures import FOREIGN_ERRORS, about_the_account, code_of
from mcp_memory_server.adapters.aws.clients import Service, SharedClient
from mcp_memory_server.adapters.aws.clients import connector as aws_connector
from mcp_memory_server.adapters.bedrock.address import MAX_REQUESTS_AT_ONCE, ModelAddress
from mcp_memory_server.domain.kernel.spending import Tokens
from mcp_memory_server.domain.summaries.material import Material
from mcp_memory_server.domain.summaries.requests import LONGEST_ANSWER, SCHEMA, draft_from, question_about
from mcp_memory_server.domain.summaries.requests import most_tokens as most_tokens_of
from mcp_memory_server.errors import ConfigurationError, MemoryServerError, ModelBusyError, ModelUnavailableError
from mcp_memory_server.ports.summarizer import Drafted
from mcp_memory_server.ports.token_counter import TokenCounter

DEADLINE = timedelta(seconds=30)
"""The deadline of one summary, retries included."""
SENT = 2

_TOOL = "hand_off"
_NOT_BEGUN = frozenset(
    {
        "ThrottlingException",
        "TooManyRequestsException",
        "ServiceUnavailableException",
        "ModelNotReadyException",
        "InternalServerException",
        "ServiceQuotaExceededException",
        "EndpointConnectionError",
        "ConnectTimeoutError",
    }
)
_NOT_THERE = frozenset({"ResourceNotFoundException", "ValidationException"})


def open_bedrock_summarizer(
    model_id: str,
    *,
    count: TokenCounter,
    region: str | None = None,
    endpoint: str | None = None,
    deadline: timedelta = DEADLINE,
) -> "BedrockSummarizer":
    """Return the summarizer, without a request: a missing permission or credential shows when it is first used.

    Raises:
        ConfigurationError: The endpoint cannot be one.
    """
    address = ModelAddress(model_id, region, endpoint)
    place = (region, endpoint)
    connect = aws_connector(
        Service("bedrock-runtime", *place, deadline, MAX_REQUESTS_AT_ONCE, attempts=SENT, read_share=SENT)
    )
    return BedrockSummarizer(address, connect, count, deadline)


class BedrockSummarizer:
    """Answers the port. The model must call one tool, whose input is the reply."""

    def __init__(
        self, address: ModelAddress, connect: Callable[[], Any], count: TokenCounter, deadline: timedelta
    ) -> None:
        self._address = address
        self._count = count
        self._deadline = deadline.total_seconds()
        self._client = SharedClient(connect, at_once=MAX_REQUESTS_AT_ONCE, name="bedrock-summaries")

    @property
    def name(self) -> str:
        """See the port."""
        return f"bedrock/{self._address.model_id}"

    def most_tokens(self, material: Material) -> Tokens:
        """See the port."""
        return most_tokens_of(material, self._count)

    async def summarize(self, material: Material) -> Drafted:
        """See the port."""
        question = question_about(material)
        answer = await self._converse(
            {
                "modelId": self._address.model_id,
                "system": [{"text": question.system}],
                "messages": [{"role": "user", "content": [{"text": question.text}]}],
                "inferenceConfig": {"maxTokens": LONGEST_ANSWER},
                "toolConfig": {
                    "tools": [{"toolSpec": {"name": _TOOL, "inputSchema": {"json": dict(SCHEMA)}}}],
                    "toolChoice": {"tool": {"name": _TOOL}},
                },
            }
        )
        return Drafted(draft_from(_input_of_tool(answer), material), _used(answer))

    async def close(self) -> None:
        """See the port."""
        await self._client.close(self._deadline)

    async def _converse(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(self._deadline):
                return await asyncio.wrap_future(self._submit(request))
        except TimeoutError as error:
            raise ModelUnavailableError(f"{self._address} did not answer within {self._deadline:g} s") from error
        except FOREIGN_ERRORS as error:
            raise self._translated(error) from error

    def _submit(self, request: Mapping[str, Any]) -> Future[Mapping[str, Any]]:
        try:
            return self._client.submit(lambda client: client.converse(**request))
        except RuntimeError as error:
            raise ModelUnavailableError(f"{self._address} was closed") from error

    def _translated(self, error: Exception) -> MemoryServerError:
        code = code_of(error)
        if code in _NOT_BEGUN:
            return ModelBusyError(f"{self._address} refused for now ({code})")
        if code in _NOT_THERE:
            return ConfigurationError(
                f"{self._address} cannot be asked this way ({code}); check its id, and that its region has it"
            )
        written = f"bedrock://{self._address.model_id}?region=eu-west-1"
        account = about_the_account(error, self._address, written=written, allowed="bedrock:InvokeModel")
        return account or ModelUnavailableError(f"{self._address} did not answer: {code}")


def _input_of_tool(answer: Mapping[str, Any]) -> str:
    """Return the input of the tool as text; "" if the model did not call it."""
    try:
        blocks = answer["output"]["message"]["content"]
        return next((json.dumps(block["toolUse"]["input"]) for block in blocks if "toolUse" in block), "")
    except (LookupError, TypeError):
        return ""


def _used(answer: Mapping[str, Any]) -> Tokens:
    try:
        return Tokens(int(answer["usage"]["inputTokens"]), int(answer["usage"]["outputTokens"]))
    except (LookupError, TypeError, ValueError):
        return Tokens(0, LONGEST_ANSWER)
