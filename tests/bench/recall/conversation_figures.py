"""What the answers about conversations come to, as tables."""

from collections.abc import Sequence

from tests.bench.figures import Cell, Figures
from tests.bench.recall.measures import NAMES, Result, by_category, by_source, costs_by_category, macro
from tests.bench.recall.through_tool import BUDGETS, Asked, fair_budgets


def by_sources(title: str, results: Sequence[Result]) -> Figures:
    """Return one line a source, and their mean if there are several."""
    sources = by_source(results)
    means = {"MACRO": macro(results)} if len(sources) > 1 else {}
    return Figures(title, [_row(name, values) for name, values in {**sources, **means}.items()])


def by_categories(title: str, results: Sequence[Result]) -> Figures:
    """Return one line a category, with the milliseconds and the tokens that its questions take."""
    costs = costs_by_category(results)
    return Figures(
        title,
        [
            {**_row(name, values), "ms": costs[name][0], "tokens": int(costs[name][1])}
            for name, values in by_category(results).items()
        ],
    )


def by_budget(answers: Sequence[Asked]) -> Figures:
    """Return what share of the evidence fits into each budget of tokens."""
    rows = {
        name: {f"{budget:,} tokens": values[budget] for budget in BUDGETS}
        for name, values in fair_budgets(answers).items()
    }
    return Figures("conversations, evidence within a budget", [{"": name, **row} for name, row in rows.items()])


def _row(name: str, values: Sequence[float]) -> dict[str, Cell]:
    return {"": name, **dict(zip(NAMES, values, strict=True))}
