"""How well the same thing in other words is told from something else, on labelled sentences in five languages."""

import random
from collections.abc import AsyncIterator

import pytest

from mcp_memory_server.domain.kernel.vectors import closeness
from mcp_memory_server.domain.recall.restatements import (
    FORGOTTEN,
    Closeness,
    data_without,
    says_the_same,
    sentences_of,
    without_sentences,
)
from mcp_memory_server.ports.embedder import Embedder
from mcp_memory_server.wiring.embeddings import built_in_embedder, built_in_fine_embedder
from tests.services.users.restatements import GROUPS, MEASURING, Restatements

pytestmark = pytest.mark.anyio

UNRELATED_EACH = 8


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


class Judge:
    """Both models of the package, and what they made of a text before."""

    def __init__(self, coarse: Embedder, fine: Embedder) -> None:
        self._models = (coarse, fine)
        self._known: dict[str, tuple[bytes, bytes]] = {}

    async def _vectors(self, text: str) -> tuple[bytes, bytes]:
        if text not in self._known:
            (coarse,), (fine,) = [await model.embed([text]) for model in self._models]
            self._known[text] = coarse, fine
        return self._known[text]

    async def share(self, pairs: list[tuple[str, str]], *, with_fine: bool = True) -> float:
        """Return the share of sentences that are taken to say the same as their fact."""
        same = 0
        for fact, sentence in pairs:
            own, other = await self._vectors(fact), await self._vectors(sentence)
            coarse, fine = (closeness(*both) for both in zip(own, other, strict=True))
            same += says_the_same(fact, sentence, Closeness(coarse, fine if with_fine else None))
        return same / len(pairs)


@pytest.fixture(scope="module")
async def judge() -> AsyncIterator[Judge]:
    coarse, fine = built_in_embedder(), built_in_fine_embedder()
    yield Judge(coarse, fine)
    await coarse.close()
    await fine.close()


def pairs(groups: tuple[Restatements, ...], name: str) -> list[tuple[str, str]]:
    return [(group.fact, sentence) for group in groups for sentence in getattr(group, name)]


def unrelated(groups: tuple[Restatements, ...]) -> list[tuple[str, str]]:
    pick = random.Random(16)
    others = {group.fact: [one for other in GROUPS if other is not group for one in other.same] for group in groups}
    return [(fact, sentence) for fact, some in others.items() for sentence in pick.sample(some, UNRELATED_EACH)]


@pytest.mark.parametrize("with_fine", [True, False])
async def test_most_restatements_are_found_and_few_neighbours(judge: Judge, *, with_fine: bool) -> None:
    found = await judge.share(pairs(MEASURING, "same"), with_fine=with_fine)
    neighbours = await judge.share(pairs(MEASURING, "other"), with_fine=with_fine)
    others = await judge.share(unrelated(MEASURING), with_fine=with_fine)

    print(f"found {found:.1%}, neighbours {neighbours:.1%}, unrelated {others:.2%} (fine model: {with_fine})")
    assert found >= (0.85 if with_fine else 0.8)
    assert neighbours <= 0.12
    assert others <= 0.01


def test_a_sentence_goes_and_what_is_around_it_stays() -> None:
    text = 'First. I earn 84,000 a year! "Really?" Yes.\n- a list 。そうです。はい'

    kept, count = without_sentences(text, {"I earn 84,000 a year!", "そうです。"})

    assert (kept, count) == (f'First. {FORGOTTEN} "Really?" Yes.\n- a list 。{FORGOTTEN}はい', 2)
    assert "".join(sentences_of(text)).replace(" ", "") == text.replace(" ", "").replace("\n", "")


def test_neighbouring_sentences_leave_one_mark() -> None:
    assert without_sentences("One. Two. Three.", {"One.", "Two."}) == (f"{FORGOTTEN} Three.", 2)


def test_what_repeats_a_fact_goes_out_of_nested_data() -> None:
    data = {"a": ["The user has epilepsy.", 3, None], "b": {"c": "Hello. Epilepsy, the user has."}}

    assert data_without(data, ["The user has epilepsy."]) == (
        {"a": [FORGOTTEN, 3, None], "b": {"c": f"Hello. {FORGOTTEN}"}},
        2,
    )
