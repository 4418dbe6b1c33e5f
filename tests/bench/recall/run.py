"""Measure recall on conversations and on short facts: `python -m tests.bench.recall.run --data FOLDER [--tool]`.

In process, the ranking alone; with --tool through the real `recall` tool: conversations within budgets of tokens, short
facts with and without topics and among distractors. `--source personal --tool` measures short facts alone.
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

from mcp_memory_server.adapters.built_in.embedder import BuiltInEmbedder
from tests.bench.figures import print_figures
from tests.bench.recall.measures import NAMES, Result, by_category, by_source, costs_by_category, gain, judged, macro
from tests.bench.recall.nonsense import measure_nonsense
from tests.bench.recall.personas import PERSONAL, personal_stores, read_personas
from tests.bench.recall.rankings import RANKINGS
from tests.bench.recall.short_fact_figures import by_kind, of_settings
from tests.bench.recall.short_facts import OWN_SIZE, measure_settings
from tests.bench.recall.smoke import ask_smoke_list, smoke_figures
from tests.bench.recall.stores import DEFAULT_DATA, SOURCES, Store, read_stores
from tests.bench.recall.through_tool import BUDGETS, DEFAULT, Asked, fair_budgets, measure

Embedded = tuple[Store, Sequence[bytes], Sequence[bytes]]
"""A store with the vectors of its documents and of its questions."""


def main() -> None:
    options = _options()
    conversations = [source for source in options.source if source != PERSONAL]
    if conversations:
        _conversations([store for source in conversations for store in read_stores(source, options.data)], options)
    if PERSONAL in options.source:
        _short_facts(options)


def _conversations(chosen: Sequence[Store], options: argparse.Namespace) -> None:
    stores = asyncio.run(_embedded(chosen))
    _rankings(stores, options)
    if options.nonsense:
        for source, kinds in measure_nonsense(stores).items():
            shares = ", ".join(f"{kind} {share:.1f} %" for kind, share in kinds.items())
            print(f"\n{source}, something found: {shares}")
    if options.tool:
        _show_tool(asyncio.run(measure(chosen)), categories=options.categories)


def _short_facts(options: argparse.Namespace) -> None:
    if not options.tool:
        _rankings(asyncio.run(_embedded(personal_stores(options.data))), options)
        return
    measured = asyncio.run(measure_settings(read_personas(options.data), options.sizes))
    for setting, answers in measured.items():
        if setting.size == OWN_SIZE:
            for figures in by_kind(setting, answers):
                print_figures(figures)
    print_figures(of_settings(measured))
    print_figures(smoke_figures(asyncio.run(ask_smoke_list(options.data))))


def _rankings(stores: Sequence[Embedded], options: argparse.Namespace) -> None:
    base = _measured("ours", stores)
    for name in ["ours", *options.compare]:
        _show(name, _measured(name, stores), base)
    if options.categories and not options.tool:
        _table_of_categories(base)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of the recall data")
    parser.add_argument(
        "--source", nargs="+", default=(*SOURCES, PERSONAL), choices=(*SOURCES, PERSONAL, "own", "exchanges")
    )
    parser.add_argument("--compare", nargs="*", default=[], choices=[name for name in RANKINGS if name != "ours"])
    parser.add_argument("--categories", action="store_true", help="show the figures of ours by category")
    parser.add_argument("--nonsense", action="store_true", help="ask what nothing answers")
    parser.add_argument("--tool", action="store_true", help="also ask through the real tool, and within budgets")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[OWN_SIZE], help="how many facts a store holds, with distractors"
    )
    return parser.parse_args()


async def _embedded(stores: Sequence[Store]) -> list[Embedded]:
    embedder = BuiltInEmbedder()
    return [
        (
            store,
            await embedder.embed([document.text for document in store.documents]),
            await embedder.embed([question.text for question in store.questions], as_question=True),
        )
        for store in stores
    ]


def _measured(name: str, stores: Sequence[Embedded]) -> list[Result]:
    results: list[Result] = []
    for store, vectors, asked in stores:
        ranking = RANKINGS[name](store, vectors)
        for question, vector in zip(store.questions, asked, strict=True):
            started = time.process_time()
            found = ranking(question, vector)
            taken = 1000 * (time.process_time() - started)
            result = judged(store.source, question.category, found, question.evidence)
            results.append(replace(result, milliseconds=taken))
    return results


def _show(name: str, results: list[Result], base: list[Result]) -> None:
    print(f"\n{name}: {fmean(result.milliseconds for result in results):.2f} CPU ms a question")
    _table({**by_source(results), "MACRO": macro(results)})
    if results is not base and name != "ours":
        difference, low, high = gain(base, results)
        print(f"  ours is better by {difference:+.1f} R@10 [{low:+.1f}, {high:+.1f}]")


def _show_tool(answers: Sequence[Asked], *, categories: bool) -> None:
    results = [asked.result for asked in answers]
    usual = median(asked.milliseconds_at[DEFAULT] for asked in answers)
    print(f"\nthrough the tool: {usual:.1f} ms a question within {DEFAULT} tokens")
    _table({**by_source(results), "MACRO": macro(results)})
    if categories:
        _table_of_categories(results)
    print(f"\n  evidence within a budget of tokens{'':8}" + "".join(f"{budget:>9,}" for budget in BUDGETS))
    for name, values in fair_budgets(answers).items():
        print(f"  {name:42}" + "".join(f"{values[budget]:9.1f}" for budget in BUDGETS))


def _table(rows: dict[str, list[float]]) -> None:
    print(f"  {'':42}" + "".join(f"{name:>9}" for name in NAMES))
    for name, values in rows.items():
        print(f"  {name:42}" + "".join(f"{value:9.1f}" for value in values))


def _table_of_categories(results: Sequence[Result]) -> None:
    """Show the figures of each category, then the milliseconds and tokens that its questions take."""
    print(f"  {'':42}" + "".join(f"{name:>9}" for name in (*NAMES, "ms", "tokens")))
    costs = costs_by_category(results)
    for name, values in by_category(results).items():
        milliseconds, tokens = costs[name]
        print(f"  {name:42}" + "".join(f"{value:9.1f}" for value in values) + f"{milliseconds:9.2f}{tokens:9.0f}")


if __name__ == "__main__":
    main()
