"""Questions that nothing in a store answers: how often something is called likely all the same."""

import asyncio
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from string import ascii_lowercase

from mcp_memory_server.adapters.built_in.embedder import BuiltInEmbedder
from mcp_memory_server.adapters.built_in.search.search_index import BuiltInSearchIndex
from mcp_memory_server.adapters.built_in.search.stemmer import stem
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.language.stop_words import ENGLISH
from mcp_memory_server.domain.language.word_forms import forms, terms_of, words_of
from mcp_memory_server.domain.recall.likelihood import Likelihood, likelihood
from tests.bench.recall.stores import Store

QUESTIONS = 1_000
UNRELATED = Path(__file__).with_name("unrelated.txt").read_text(encoding="utf-8").splitlines()
NEVER_SAID = Path(__file__).with_name("never_said.txt").read_text(encoding="utf-8").splitlines()
"""Questions about the asker that make sense, and that no store answers. They are asked on top, and are no nonsense."""
KINDS = ("letters", "random words", "words that nobody said", "fluent and unrelated")


def measure_nonsense(stores: Sequence[tuple[Store, Sequence[Vectors], object]]) -> dict[str, dict[str, float]]:
    """Return for each source and kind of nonsense the percentage of questions for which something is called likely."""
    draw = random.Random(1)
    documents = [document for store, *_ in stores for document in store.documents]
    said = sorted({word for document in documents for word in words_of(document.text) if len(word) > 3})
    found: defaultdict[str, defaultdict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for store, vectors, _ in stores:
        index = BuiltInSearchIndex(stem)
        index.add(store.documents, vectors)
        asked = list(_questions(draw, store, said, QUESTIONS // len(stores) // len(KINDS)))
        for (kind, question), vector in zip(asked, _embedded([question for _, question in asked]), strict=True):
            matches = index.search([(question, Vectors(vector))], asked_at=store.questions[0].asked_at, limit=10)
            labels = {likelihood(match.probability) for match in matches}
            found[store.source][kind].append(Likelihood.LIKELY in labels)
    return {
        source: {kind: 100 * sum(hits) / len(hits) for kind, hits in kinds.items()} for source, kinds in found.items()
    }


def _questions(draw: random.Random, store: Store, said: list[str], each: int) -> Iterator[tuple[str, str]]:
    here = {term for document in store.documents for term in terms_of(document.text, stem)[1]}
    absent = [word for word, term in zip(said, forms(said, ENGLISH, stem), strict=True) if term not in here]
    for _ in range(each):
        yield "letters", " ".join(_letters(draw) for _ in range(draw.randint(1, 6)))
        yield "random words", " ".join(draw.sample(said, draw.randint(3, 8)))
        yield "words that nobody said", " ".join(draw.sample(absent, draw.randint(1, 6)))
        yield "fluent and unrelated", draw.choice(UNRELATED)
    for question in NEVER_SAID:
        yield "about oneself and never said", question


def _letters(draw: random.Random) -> str:
    return "".join(draw.choices(ascii_lowercase, k=draw.randint(3, 10)))


def _embedded(texts: Sequence[str]) -> Sequence[bytes]:
    return asyncio.run(BuiltInEmbedder().embed(texts, as_question=True))
