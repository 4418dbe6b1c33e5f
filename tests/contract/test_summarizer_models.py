"""What is true of models only: what their errors become, and that nothing is sent twice without need."""

import threading
import time
from datetime import timedelta

import pytest

from mcp_memory_server.adapters.anthropic.summarizer import open_anthropic
from mcp_memory_server.adapters.bedrock.summarizer import open_bedrock_summarizer
from mcp_memory_server.adapters.tiktoken.token_counter import count_tokens
from mcp_memory_server.domain.sessions.turns import Role
from mcp_memory_server.errors import ConfigurationError, ModelBusyError, ModelUnavailableError
from tests.contract.test_summarizer import material
from tests.engines.summarizers import ANTHROPIC_MODEL, MODELS
from tests.engines.summary_models import model_service, of_anthropic, of_bedrock, refuse

pytestmark = pytest.mark.anyio

TALK = material((Role.USER, "I prefer window seats."), (Role.ASSISTANT, "Noted."))
BUSY = {
    "anthropic": [(429, "rate_limit_error"), (529, "overloaded_error"), (500, "api_error")],
    "bedrock": [(429, "ThrottlingException"), (503, "ServiceUnavailableException"), (500, "InternalServerException")],
}
REFUSED = {
    "anthropic": [(401, "authentication_error"), (404, "not_found_error"), (400, "invalid_request_error")],
    "bedrock": [(403, "AccessDeniedException"), (404, "ResourceNotFoundException"), (400, "ValidationException")],
}


@pytest.fixture(autouse=True)
def _a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")


@pytest.mark.parametrize(("engine", "status", "code"), [(name, *one) for name in BUSY for one in BUSY[name]])
async def test_a_model_that_refuses_to_begin_is_busy(engine: str, status: int, code: str) -> None:
    async with MODELS[engine]() as (summarizer, service):
        service.always = refuse(status, code, retry_after="0")

        with pytest.raises(ModelBusyError) as raised:
            await summarizer.summarize(TALK)

        assert "window" not in str(raised.value)
        assert len(service.asked) == 2


@pytest.mark.parametrize("engine", MODELS)
async def test_a_model_that_is_busy_for_a_moment_answers_the_second_request(engine: str) -> None:
    async with MODELS[engine]() as (summarizer, service):
        service.next = [refuse(429, "ThrottlingException", retry_after="0")]

        assert (await summarizer.summarize(TALK)).draft is not None


@pytest.mark.parametrize(("engine", "status", "code"), [(name, *one) for name in REFUSED for one in REFUSED[name]])
async def test_a_request_that_can_never_work_names_what_to_set(engine: str, status: int, code: str) -> None:
    async with MODELS[engine]() as (summarizer, service):
        service.always = refuse(status, code)

        with pytest.raises(ConfigurationError):
            await summarizer.summarize(TALK)

        assert len(service.asked) == 1


@pytest.mark.parametrize("engine", MODELS)
async def test_an_answer_that_does_not_come_is_not_waited_for(engine: str) -> None:
    released = threading.Event()
    async with MODELS[engine](timedelta(seconds=1)) as (summarizer, service):
        service.always = lambda: str(released.wait(30))

        with pytest.raises(ModelUnavailableError) as raised:
            await summarizer.summarize(TALK)

        released.set()
        assert not isinstance(raised.value, ModelBusyError)


@pytest.mark.parametrize("engine", MODELS)
async def test_a_slow_answer_is_taken(engine: str) -> None:
    async with MODELS[engine]() as (summarizer, service):
        service.next = [lambda: time.sleep(0.5)]

        assert (await summarizer.summarize(TALK)).draft is not None


@pytest.mark.parametrize("engine", MODELS)
@pytest.mark.parametrize(
    "answer",
    ["", "Sure! Here is the summary you asked for.", "{", "[]", "null", '{"discussed": "text"}', '{"discussed": []}'],
)
async def test_nonsense_is_no_draft_and_its_tokens_are_counted(engine: str, answer: str) -> None:
    async with MODELS[engine]() as (summarizer, service):
        service.always = lambda: answer

        drafted = await summarizer.summarize(TALK)

        assert drafted.draft is None
        assert drafted.used.input > 0


async def test_anthropic_without_a_key_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with model_service(of_anthropic) as service:
        summarizer = open_anthropic(ANTHROPIC_MODEL, endpoint=service.endpoint, count=count_tokens)

        with pytest.raises(ConfigurationError, match="ANTHROPIC_API_KEY"):
            await summarizer.summarize(TALK)

        assert service.asked == []
        await summarizer.close()


async def test_a_service_that_is_not_there_is_busy() -> None:
    with model_service(of_bedrock) as service:
        nowhere = service.endpoint
    summarizers = [
        open_anthropic(ANTHROPIC_MODEL, endpoint=nowhere, count=count_tokens),
        open_bedrock_summarizer("m", endpoint=nowhere, count=count_tokens),
    ]

    for summarizer in summarizers:
        with pytest.raises(ModelBusyError):
            await summarizer.summarize(TALK)
        await summarizer.close()
