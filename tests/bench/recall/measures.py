"""How good a ranking is: recall, reciprocal rank, discounted gain; and whether one is better than another by chance."""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain
from statistics import fmean, median

LEFT_OUT = "adversarial"
"""Questions that name the wrong person. They are shown, and stay out of every total."""
NAMES = ("R@5", "R@10", "R@20", "MRR", "nDCG@10")


Said = AbstractSet[str]
"""One thing that was found: the ids of the documents that say it, mostly one."""


@dataclass(frozen=True)
class Result:
    """How well one question was answered. The figures are those of ``NAMES``, from 0 to 1.

    It took so many ``milliseconds``, and a reply of so many ``tokens``, if there was one.
    """

    source: str
    category: str
    figures: tuple[float, ...]
    milliseconds: float = 0.0
    tokens: int = 0

    @property
    def kind(self) -> str:
        """What kind of question it was."""
        return f"{self.source} / {self.category}"


def judged(source: str, category: str, found: Sequence[Said], evidence: frozenset[str]) -> Result:
    """Return how good is what was found, best first."""
    recall = [share_found(found[:first], evidence) for first in (5, 10, 20)]
    hits = [not evidence.isdisjoint(said) for said in found]
    rank = next((1 / place for place, hit in enumerate(hits, 1) if hit), 0.0)
    gain = sum(hit / math.log2(place + 2) for place, hit in enumerate(hits[:10]))
    best = sum(1 / math.log2(place + 2) for place in range(min(10, len(evidence))))
    return Result(source, category, (*recall, rank, gain / best))


def share_found(found: Sequence[Said], evidence: frozenset[str]) -> float:
    """Return how much of the evidence was found."""
    return len(evidence.intersection(chain.from_iterable(found))) / len(evidence)


def by_source(results: Iterable[Result]) -> dict[str, list[float]]:
    """Return the mean figures of each source, in percent."""
    return _means(results, lambda result: result.source)


def by_category(results: Iterable[Result]) -> dict[str, list[float]]:
    """Return the mean figures of each category, in percent."""
    return _means(results, lambda result: result.kind, totals=False)


def costs_by_category(results: Sequence[Result]) -> dict[str, tuple[float, float]]:
    """Return how many milliseconds and tokens the questions of each category take, by the median."""
    kinds = {result.kind: [other for other in results if other.kind == result.kind] for result in results}
    return {
        kind: (median(one.milliseconds for one in some), median(one.tokens for one in some))
        for kind, some in kinds.items()
    }


def macro(results: Iterable[Result]) -> list[float]:
    """Return the figures with each source counting the same, in percent."""
    return [fmean(values) for values in zip(*by_source(results).values(), strict=True)]


def gain(results: Sequence[Result], base: Sequence[Result], figure: int = 1, rounds: int = 1_000) -> tuple[float, ...]:
    """Return how much higher the macro figure is, and the limits that hold it in 95 of 100 draws of the questions."""
    differences: defaultdict[str, list[float]] = defaultdict(list)
    for ours, theirs in zip(results, base, strict=True):
        if ours.category != LEFT_OUT:
            differences[ours.source].append(100 * (ours.figures[figure] - theirs.figures[figure]))
    draw = random.Random(1)
    drawn = sorted(
        fmean(fmean(draw.choices(values, k=len(values))) for values in differences.values()) for _ in range(rounds)
    )
    return fmean(map(fmean, differences.values())), drawn[rounds // 40], drawn[-rounds // 40]


def _means(results: Iterable[Result], key: Callable[[Result], str], *, totals: bool = True) -> dict[str, list[float]]:
    groups: defaultdict[str, list[tuple[float, ...]]] = defaultdict(list)
    for result in results:
        if not totals or result.category != LEFT_OUT:
            groups[key(result)].append(result.figures)
    return {name: [100 * fmean(values) for values in zip(*rows, strict=True)] for name, rows in groups.items()}
