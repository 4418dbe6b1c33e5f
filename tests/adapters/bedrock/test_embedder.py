"""What is true of Bedrock only: what it is sent, its limits, and what its errors become."""

import socket
from collections.abc import Iterator
from datetime import timedelta

import pytest

from mcp_memory_server.adapters.bedrock.embedder import BedrockEmbedder, open_bedrock
from mcp_memory_server.domain.kernel.vectors import closeness
from mcp_memory_server.errors import ConfigurationError, MemoryServerError, UnavailableError
from tests.engines.bedrock import COHERE, COHERE_4, TITAN, BedrockService, RefusalError, bedrock_service
from tests.engines.embedders import PATIENCE

pytestmark = pytest.mark.anyio

SHORT = timedelta(milliseconds=500)


@pytest.fixture
def service() -> Iterator[BedrockService]:
    with bedrock_service() as service:
        yield service


def opened(service: BedrockService, model_id: str = TITAN, dimensions: int | None = None) -> BedrockEmbedder:
    return open_bedrock(model_id, endpoint=service.endpoint, dimensions=dimensions, deadline=PATIENCE)


def refuse(status: int, code: str, message: str = "the secret") -> bytes:
    raise RefusalError(status, code, message)


async def test_titan_is_asked_for_one_text_a_request_and_not_for_blank_ones(service: BedrockService) -> None:
    embedder = opened(service)

    await embedder.embed(["the dog", " ", "the cat"])

    assert sorted(question["inputText"] for question in service.asked) == ["the cat", "the dog"]
    assert {question["dimensions"] for question in service.asked} == {256}
    await embedder.close()


async def test_cohere_is_asked_for_96_texts_a_request(service: BedrockService) -> None:
    embedder = opened(service, COHERE)

    await embedder.embed([f"dog {number}" for number in range(200)])

    assert sorted(len(question["texts"]) for question in service.asked) == [8, 96, 96]
    await embedder.close()


@pytest.mark.parametrize("model_id", [COHERE, COHERE_4])
async def test_cohere_is_told_what_a_question_is(service: BedrockService, model_id: str) -> None:
    embedder = opened(service, model_id)

    (memory,) = await embedder.embed(["the dog"])
    (question,) = await embedder.embed(["the dog"], as_question=True)

    assert [asked["input_type"] for asked in service.asked] == ["search_document", "search_query"]
    assert closeness(memory, question) < 1
    await embedder.close()


@pytest.mark.parametrize(
    ("model_id", "dimensions"), [(TITAN, 512), (TITAN, 1024), (COHERE, 1024), (COHERE_4, 256), (COHERE_4, 1536)]
)
async def test_vectors_have_the_length_that_was_asked_for(
    service: BedrockService, model_id: str, dimensions: int
) -> None:
    embedder = opened(service, model_id, dimensions)

    (vector,) = await embedder.embed(["the dog"])

    assert len(vector) == embedder.dimensions == dimensions
    await embedder.close()


def test_the_same_model_with_vectors_of_another_length_has_another_name(service: BedrockService) -> None:
    names = {opened(service, TITAN, dimensions).model for dimensions in (256, 512, 1024)}

    assert names == {f"bedrock/{TITAN}/256", f"bedrock/{TITAN}/512", f"bedrock/{TITAN}/1024"}


async def test_a_text_with_too_many_tokens_is_sent_again_with_less_of_it(service: BedrockService) -> None:
    embedder = opened(service)

    (vector,) = await embedder.embed(["狗" * 30_000])

    assert [len(question["inputText"]) for question in service.asked] == [24_000, 12_000, 6_000]
    assert any(vector)
    await embedder.close()


async def test_a_model_that_finds_everything_too_long_is_unavailable(service: BedrockService) -> None:
    service.instead = lambda: refuse(400, "ValidationException", "Too many input tokens")
    embedder = opened(service)

    with pytest.raises(UnavailableError):
        await embedder.embed(["dog " * 1_000])
    await embedder.close()


@pytest.mark.parametrize(
    "answer",
    [b"", b"<html>", b"[]", b"null", b"{}", b'{"embedding": [1, 2]}', b'{"embedding": null}', b'{"embedding": ["1"]}'],
)
async def test_an_answer_without_the_vector_is_unavailable(service: BedrockService, answer: bytes) -> None:
    service.instead = lambda: answer
    embedder = opened(service)

    with pytest.raises(UnavailableError):
        await embedder.embed(["the dog"])
    await embedder.close()


@pytest.mark.parametrize(
    ("status", "code", "ours"),
    [
        (429, "ThrottlingException", UnavailableError),
        (424, "ModelErrorException", UnavailableError),
        (408, "ModelTimeoutException", UnavailableError),
        (429, "ModelNotReadyException", UnavailableError),
        (500, "InternalServerException", UnavailableError),
        (503, "ServiceUnavailableException", UnavailableError),
        (403, "AccessDeniedException", ConfigurationError),
        (403, "ExpiredTokenException", ConfigurationError),
        (403, "UnrecognizedClientException", ConfigurationError),
        (404, "ResourceNotFoundException", ConfigurationError),
        (400, "ValidationException", ConfigurationError),
    ],
)
async def test_the_errors_of_bedrock_become_ours_without_its_words(
    service: BedrockService, status: int, code: str, ours: type[MemoryServerError]
) -> None:
    service.instead = lambda: refuse(status, code)
    embedder = opened(service)

    with pytest.raises(ours) as refused:
        await embedder.embed(["the dog"])

    assert "the secret" not in str(refused.value)
    assert "the dog" not in str(refused.value)
    await embedder.close()


async def test_one_refusal_among_many_is_told_and_the_next_request_works(service: BedrockService) -> None:
    embedder = opened(service)
    service.instead = lambda: refuse(403, "AccessDeniedException")
    with pytest.raises(ConfigurationError, match="bedrock:InvokeModel"):
        await embedder.embed(["the dog", "the cat"] * 20)

    service.instead = None

    assert len(await embedder.embed(["the dog"])) == 1
    await embedder.close()


async def test_a_model_that_does_not_answer_is_unavailable_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        embedder = open_bedrock(TITAN, endpoint=f"http://127.0.0.1:{silent.getsockname()[1]}", deadline=SHORT)

        with pytest.raises(UnavailableError):
            await embedder.embed(["the dog"])
        await embedder.close()


async def test_a_model_that_nobody_serves_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    embedder = open_bedrock(TITAN, endpoint=f"http://127.0.0.1:{port}", deadline=PATIENCE)

    with pytest.raises(UnavailableError, match="EndpointConnectionError"):
        await embedder.embed(["the dog"])
    await embedder.close()


async def test_what_was_closed_is_unavailable(service: BedrockService) -> None:
    embedder = opened(service)
    await embedder.close()

    with pytest.raises(UnavailableError, match="closed"):
        await embedder.embed(["the dog"])


@pytest.mark.parametrize("model_id", ["", "amazon.titan-embed-text-v1", "anthropic.claude-opus-5"])
def test_a_model_that_is_not_known_is_a_setting_to_correct(model_id: str) -> None:
    with pytest.raises(ConfigurationError, match=TITAN):
        open_bedrock(model_id)


def test_a_length_that_the_model_does_not_have_is_a_setting_to_correct() -> None:
    with pytest.raises(ConfigurationError, match="256 or 512 or 1024 dimensions, not 300"):
        open_bedrock(TITAN, dimensions=300)


@pytest.mark.parametrize("endpoint", ["secret", "ftp://secret", "http://me:secret@localhost", "http://[secret"])
def test_an_endpoint_that_is_none_is_refused_without_quoting_it(endpoint: str) -> None:
    with pytest.raises(ConfigurationError, match="endpoint") as refused:
        open_bedrock(TITAN, endpoint=endpoint)

    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    "model_id",
    ["us.cohere.embed-v4:0", "arn:aws:bedrock:eu-west-1:123456789012:inference-profile/eu.cohere.embed-v4:0"],
)
def test_an_inference_profile_is_asked_as_its_model(model_id: str) -> None:
    assert open_bedrock(model_id, dimensions=1536).dimensions == 1536
