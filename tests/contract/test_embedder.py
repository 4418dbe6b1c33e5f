"""What every embedder promises, whatever computes its vectors and wherever."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from mcp_memory_server.domain.kernel.vectors import LONGEST, closeness
from mcp_memory_server.ports.embedder import Embedder
from tests.engines.embedders import EMBEDDERS

pytestmark = pytest.mark.anyio

DOG = "ana walks the dog in the park every morning"
WALK = "every morning a walk in the park and the dog"
PIANO = "ben plays jazz piano at a concert"

HOSTILE = {
    "empty": "",
    "blank": " \t\r\n\u00a0\u3000",
    "nul": "\x00the\x00dog\x00",
    "control characters": "".join(map(chr, range(32))) + "\x7f\x85\u2028",
    "half of a surrogate pair": "the dog \ud83d and \udc15",
    "not a character": "\ufffe\uffff\U0010ffff\ufffd",
    "zero width": "\u200b\u200d\ufeff\u2060",
    "right to left": "\u202eموسيقى وכלב\u202c",
    "chinese": "我每天早上遛狗",
    "japanese and korean": "犬の散歩 개와 산책",
    "emoji": "🐕‍🦺👨‍👩‍👧‍👦🏳️‍🌈" * 50,
    "accents on accents": "e" + "\u0301" * 5_000,
    "one long word": "a" * 200_000,
    "many words": "the dog and the cat " * 20_000,
    "many lines": "\n" * 100_000,
    "long chinese": "狗" * 60_000,
    "names of tokens": "[CLS] [SEP] [MASK] [UNK] [PAD] ##ing </s> <|endoftext|>",
    "markup": '{"inputText": "x"}\' OR 1=1; -- <b>&amp;</b> ${jndi:ldap://x}',
}


@pytest.fixture(params=EMBEDDERS)
async def embedder(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Embedder]:
    async with EMBEDDERS[request.param](tmp_path) as embedder:
        yield embedder


async def test_a_text_has_the_same_vector_each_time_and_in_any_company(embedder: Embedder) -> None:
    (alone,) = await embedder.embed([DOG])

    together = await embedder.embed([PIANO, DOG, "", WALK * 20, DOG])

    assert together[1] == together[4] == alone


async def test_a_vector_has_a_byte_for_each_dimension_and_its_longest_is_at_the_limit(embedder: Embedder) -> None:
    (vector,) = await embedder.embed([DOG])

    assert len(vector) == embedder.dimensions
    assert max(map(abs, memoryview(vector).cast("b"))) == LONGEST


async def test_similar_texts_are_closer_than_unrelated_ones(embedder: Embedder) -> None:
    dog, walk, piano = await embedder.embed([DOG, WALK, PIANO])

    assert closeness(dog, walk) > closeness(dog, piano) + 0.1
    assert closeness(dog, walk) > closeness(walk, piano) + 0.1


async def test_a_question_is_closest_to_its_answer(embedder: Embedder) -> None:
    (question,) = await embedder.embed(["the dog in the park"], as_question=True)

    dog, piano = await embedder.embed([DOG, PIANO])

    assert closeness(question, dog) > closeness(question, piano)


async def test_vectors_come_in_the_order_of_their_texts(embedder: Embedder) -> None:
    texts = [DOG, "", PIANO, WALK] * 60

    vectors = await embedder.embed(texts)

    assert list(vectors) == [dict(zip(texts, vectors, strict=True))[text] for text in texts]
    assert len(set(vectors)) == 4


async def test_no_texts_have_no_vectors(embedder: Embedder) -> None:
    assert list(await embedder.embed([])) == []


@pytest.mark.parametrize("text", ["", " ", "\n\t"])
async def test_a_blank_text_has_a_vector_of_zeros(embedder: Embedder, text: str) -> None:
    assert list(await embedder.embed([text])) == [bytes(embedder.dimensions)]


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_no_text_is_refused(embedder: Embedder, text: str) -> None:
    vectors = await embedder.embed([text, text + DOG, DOG])

    assert {len(vector) for vector in vectors} == {embedder.dimensions}
    assert any(vectors[2])


async def test_it_has_a_name_and_a_length(embedder: Embedder) -> None:
    assert embedder.model
    assert embedder.dimensions > 0


async def test_many_may_ask_at_once(embedder: Embedder) -> None:
    texts = [f"the dog walks to {number} and the cat" for number in range(40)]
    one_by_one = [(await embedder.embed([text]))[0] for text in texts]

    at_once = await asyncio.gather(*(embedder.embed([text]) for text in texts))

    assert [vector for (vector,) in at_once] == one_by_one


async def test_it_answers_in_several_event_loops_at_once(embedder: Embedder) -> None:
    (here,) = await embedder.embed([DOG])
    found: list[bytes] = []

    def in_a_loop_of_its_own() -> None:
        found.extend(asyncio.run(_embed(embedder, [DOG] * 5)))

    threads = [threading.Thread(target=in_a_loop_of_its_own) for _ in range(4)]
    for thread in threads:
        thread.start()
    found.extend(await embedder.embed([DOG]))
    await asyncio.to_thread(lambda: [thread.join() for thread in threads])

    assert found == [here] * 21


async def test_what_is_given_up_does_no_harm(embedder: Embedder) -> None:
    (expected,) = await embedder.embed([DOG])
    given_up = asyncio.create_task(_embed(embedder, [WALK] * 200))
    await asyncio.sleep(0)

    given_up.cancel()
    await asyncio.wait([given_up])

    assert list(await embedder.embed([DOG])) == [expected]


async def test_closing_twice_is_harmless(embedder: Embedder) -> None:
    await embedder.embed([DOG])

    await embedder.close()
    await embedder.close()


async def _embed(embedder: Embedder, texts: list[str]) -> list[bytes]:
    return list(await embedder.embed(texts))
