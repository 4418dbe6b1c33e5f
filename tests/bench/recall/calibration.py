"""How true the probabilities of recall are: `python -m tests.bench.recall.calibration [--data FOLDER]`.

For each source, and for stores of several sizes cut out of it, it prints how often a memory with each label is
evidence, and the line that would correct the logarithm of the odds: with a slope of 1 and an offset of 0 nothing needs
correcting. The constants of ``adapters/built_in/families.py`` were fitted with this, on the development half. In
conversations a turn that repeats an answer counts as a miss, so there the probabilities are meant to lie above what is
counted here.
"""

import argparse
import asyncio
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from mcp_memory_server.adapters.built_in.embedder import BuiltInEmbedder
from mcp_memory_server.adapters.built_in.search.search_index import BuiltInSearchIndex
from mcp_memory_server.adapters.built_in.search.stemmer import stem
from mcp_memory_server.adapters.multilingual_e5.embedder import MultilingualE5Embedder
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.recall.likelihood import Likelihood, likelihood
from mcp_memory_server.ports.embedder import Embedder
from tests.bench.recall.measures import LEFT_OUT
from tests.bench.recall.personas import answerable_stores, read_personas
from tests.bench.recall.stores import DEFAULT_DATA, SOURCES, Question, Store, read_stores

SIZES = (5, 25, 100, 1_000)
STEPS = 30
"""Newton's method has long converged after so many."""

Judged = tuple[float, bool]
"""The probability that a memory was given, and whether it is evidence."""


async def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of the recall data")
    data = options.parse_args().data
    fine = MultilingualE5Embedder()
    personas = answerable_stores(read_personas(data))
    await _measure("short facts", personas, fine)
    await _measure("short facts without fine vectors", personas, None)
    for source in SOURCES:
        await _measure(source, read_stores(source, data), None)
    await fine.close()


async def _measure(name: str, stores: Sequence[Store], fine: Embedder | None) -> None:
    judged: defaultdict[int, list[Judged]] = defaultdict(list)
    for store in stores:
        texts = [f"{one.topic}: {one.text}" if one.topic else one.text for one in store.documents]
        vectors = await _vectors(texts, fine, as_question=False)
        asked = await _vectors([question.text for question in store.questions], fine, as_question=True)
        for question, vector in zip(store.questions, asked, strict=True):
            if question.category != LEFT_OUT:
                for size, found in _asked(store, vectors, question, vector):
                    judged[size] += found
    for size, found in sorted(judged.items()):
        print(f"{name}, up to {size:,} memories: {_figures(found)}", flush=True)


async def _vectors(texts: Sequence[str], fine: Embedder | None, *, as_question: bool) -> list[Vectors]:
    coarse = await BuiltInEmbedder().embed(texts, as_question=as_question)
    better = [None] * len(texts) if fine is None else await fine.embed(texts, as_question=as_question)
    return [Vectors(*both) for both in zip(coarse, better, strict=True)]


def _asked(
    store: Store, vectors: Sequence[Vectors], question: Question, asked: Vectors
) -> Iterator[tuple[int, list[Judged]]]:
    """Yield what is found in stores of several sizes, all of which hold the evidence."""
    places = list(range(len(store.documents)))
    random.Random(question.id).shuffle(places)
    places.sort(key=lambda place: store.documents[place].id not in question.evidence)
    for size in SIZES:
        index = BuiltInSearchIndex(stem)
        kept = sorted(places[:size])
        index.add([store.documents[place] for place in kept], [vectors[place] for place in kept])
        found = index.search([(question.text, asked)], asked_at=question.asked_at, limit=40)
        yield size, [(match.probability, match.id in question.evidence) for match in found]
        if size >= len(places):
            return


def _figures(judged: Sequence[Judged]) -> str:
    shares = []
    for label in Likelihood:
        right = [is_evidence for probability, is_evidence in judged if likelihood(probability) is label]
        shares.append(f"{label.value} {sum(right) / max(len(right), 1):.2f} of {len(right):,}")
    slope, offset = _correction(np.array(judged, np.float64))
    return f"{', '.join(shares)}; slope {slope:.2f}, offset {offset:+.2f}"


def _correction(judged: NDArray[np.float64]) -> tuple[float, float]:
    """Return the line from the given to the counted logarithm of the odds, by logistic regression."""
    given = np.clip(judged[:, 0], 1e-6, 1 - 1e-6)
    features = np.stack([np.log(given / (1 - given)), np.ones(len(given))], axis=1)
    line, little = np.array([1.0, 0.0]), 1e-3 * np.eye(2)
    for _ in range(STEPS):
        expected = 1 / (1 + np.exp(-features @ line))
        curvature = features.T @ (features * (expected * (1 - expected))[:, np.newaxis])
        line += np.clip(np.linalg.solve(curvature + little, features.T @ (judged[:, 1] - expected)), -1, 1)
    return float(line[0]), float(line[1])


if __name__ == "__main__":
    asyncio.run(main())
