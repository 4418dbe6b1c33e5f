"""Measure recall on conversations and on short facts: `python -m tests.bench.recall.run --data FOLDER [--tool]`.

In process, the ranking alone; with --tool through the real `recall` tool: conversations within budgets of tokens, short
facts with and without topics and among distractors. `--source personal --tool` measures short facts alone. `--write`
renews the page with the figures, as far as they were measured.
"""

import argparse
import asyncio
import shlex
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median

from mcp_memory_server.adapters.built_in.embedder import BuiltInEmbedder
from mcp_memory_server.adapters.multilingual_e5.embedder import MultilingualE5Embedder
from mcp_memory_server.domain.kernel.vectors import Vectors
from mcp_memory_server.domain.recall.documents import Document
from tests.bench.figures import Figures, print_figures
from tests.bench.recall.conversation_figures import by_budget, by_categories, by_sources
from tests.bench.recall.measures import Result, gain, judged
from tests.bench.recall.nonsense import measure_nonsense
from tests.bench.recall.personas import NORA, PERSONAL, Persona, answerable_stores, read_nora, read_personas
from tests.bench.recall.rankings import RANKINGS
from tests.bench.recall.recorded import Section, record
from tests.bench.recall.short_fact_figures import by_kind, by_language, of_settings
from tests.bench.recall.short_facts import OWN_SIZE, Answer, Setting, measure_settings
from tests.bench.recall.smoke import ask_smoke_list, smoke_figures
from tests.bench.recall.stores import DEFAULT_DATA, SOURCES, Store, read_stores
from tests.bench.recall.through_tool import DEFAULT, measure

Embedded = tuple[Store, Sequence[Vectors], Sequence[Vectors]]
"""A store with the vectors of its documents and of its questions."""


def main() -> None:
    options = _options()
    measured: list[Section] = []
    conversations = [source for source in options.source if source not in (PERSONAL, NORA)]
    if conversations:
        stores = [store for source in conversations for store in read_stores(source, options.data)]
        measured += _conversations(stores, options)
    if PERSONAL in options.source:
        measured += _short_facts(options)
    if NORA in options.source:
        measured += _languages(options)
    if options.write:
        record([section.measured_by(_command(), before=options.before) for section in measured])


def _conversations(stores: Sequence[Store], options: argparse.Namespace) -> list[Section]:
    if not options.only_tool:
        _in_process(stores, options)
    if not options.tool:
        return []
    answers = asyncio.run(measure(stores))
    results = [asked.result for asked in answers]
    usual = median(asked.milliseconds_at[DEFAULT] for asked in answers)
    tables = [
        by_sources(f"conversations through the tool, {usual:.1f} ms a question within {DEFAULT:,} tokens", results),
        by_categories("conversations through the tool, by category", results),
        by_budget(answers),
    ]
    _print(tables if options.categories else [tables[0], tables[2]])
    return [Section("conversations", tables)]


def _short_facts(options: argparse.Namespace) -> list[Section]:
    measured = _of_personas(read_personas(options.data), options)
    if not measured:
        return []
    of_own_facts = [
        figures
        for setting, answers in measured.items()
        if setting.size == OWN_SIZE
        for figures in by_kind(setting, answers)
    ]
    sizes, smoke = of_settings(measured), smoke_figures(asyncio.run(ask_smoke_list(options.data)))
    _print([*of_own_facts, sizes, smoke])
    return [
        Section("short facts", of_own_facts),
        Section("sizes", [sizes] if len(options.sizes) > 1 else []),
        Section("smoke", [smoke]),
    ]


def _languages(options: argparse.Namespace) -> list[Section]:
    measured = _of_personas(read_nora(), options)
    tables = [by_language(setting, answers) for setting, answers in measured.items() if setting.size == OWN_SIZE]
    _print(tables)
    return [Section("languages", tables)]


def _of_personas(personas: Sequence[Persona], options: argparse.Namespace) -> dict[Setting, list[Answer]]:
    if not options.only_tool:
        _in_process(answerable_stores(personas), options)
    return asyncio.run(measure_settings(personas, options.sizes)) if options.tool else {}


def _in_process(stores: Sequence[Store], options: argparse.Namespace) -> None:
    embedded = asyncio.run(_embedded(stores))
    base = _measured("ours", embedded)
    for name in ["ours", *options.compare]:
        _show(name, base if name == "ours" else _measured(name, embedded), base)
    if options.categories and not options.tool:
        _print([by_categories("ours, by category", base)])
    if options.nonsense and stores[0].source != PERSONAL:
        for source, kinds in measure_nonsense(embedded).items():
            shares = ", ".join(f"{kind} {share:.1f} %" for kind, share in kinds.items())
            print(f"\n{source}, something found: {shares}")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DEFAULT_DATA, help="folder of the recall data")
    parser.add_argument(
        "--source",
        nargs="+",
        default=(*SOURCES, PERSONAL, NORA),
        choices=(*SOURCES, PERSONAL, NORA, "own", "exchanges"),
    )
    parser.add_argument("--compare", nargs="*", default=[], choices=[name for name in RANKINGS if name != "ours"])
    parser.add_argument("--categories", action="store_true", help="show the figures of ours by category")
    parser.add_argument("--nonsense", action="store_true", help="ask what nothing answers")
    parser.add_argument("--tool", action="store_true", help="also ask through the real tool, and within budgets")
    parser.add_argument("--only-tool", action="store_true", help="ask through the real tool and measure nothing else")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=[OWN_SIZE], help="how many facts a store holds, with distractors"
    )
    parser.add_argument("--write", action="store_true", help="renew docs/recall.md, its charts and its figures")
    parser.add_argument("--before", action="store_true", help="write them as figures to compare with")
    options = parser.parse_args()
    options.tool |= options.only_tool
    return options


async def _embedded(stores: Sequence[Store]) -> list[Embedded]:
    return [
        (
            store,
            await _vectors(store, [_searched(document) for document in store.documents]),
            await _vectors(store, [question.text for question in store.questions], as_question=True),
        )
        for store in stores
    ]


def _searched(document: Document) -> str:
    """Return what the vectors of a document are of, as in the product: a fact is about its topic too."""
    return f"{document.topic}: {document.text}" if document.topic else document.text


async def _vectors(store: Store, texts: Sequence[str], *, as_question: bool = False) -> list[Vectors]:
    """Return the vectors that the product makes: those of the fine model for what is no conversation."""
    coarse = await BuiltInEmbedder().embed(texts, as_question=as_question)
    if store.source in SOURCES:
        return [Vectors(vector) for vector in coarse]
    fine = await MultilingualE5Embedder().embed(texts, as_question=as_question)
    return [Vectors(*both) for both in zip(coarse, fine, strict=True)]


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
    figures = by_sources(f"{name}: {fmean(result.milliseconds for result in results):.2f} CPU ms a question", results)
    if results is base:
        print_figures(figures)
        return
    difference, low, high = gain(base, results)
    print_figures(replace(figures, notes=[f"ours is better by {difference:+.1f} R@10 [{low:+.1f}, {high:+.1f}]"]))


def _print(tables: Sequence[Figures]) -> None:
    for figures in tables:
        print_figures(figures)


def _command() -> str:
    return f"python -m tests.bench.recall.run {shlex.join(sys.argv[1:])}"


if __name__ == "__main__":
    main()
